"""Layer-normalized LSTMs and GRUs as others write them, on the weights of an lnlib network.

Each peer takes a network and returns a function of (x, upstream): the output, or with an upstream gradient
the output and the gradients of all parameters, layer by layer.
"""

import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib import rnn

Call = Callable[[Tensor, Tensor | None], tuple[Tensor, ...]]
Layer = Callable[[Tensor, list[Tensor]], Tensor]


def lstm_layer(x: Tensor, weights: list[Tensor]) -> Tensor:
    """Step by step as Eqs. (20)-(22) stand there: what most public implementations do."""
    w_ih, w_hh, b_ih, b_hh, g_ih, g_hh, g_c, b_c = weights
    size = [w_hh.shape[1]]
    h = torch.zeros(x.shape[1], w_hh.shape[1])
    c = torch.zeros_like(h)
    outputs = []
    for x_t in x.unbind(0):
        a = F.layer_norm(x_t @ w_ih.t(), [w_ih.shape[0]], g_ih, b_ih)
        a = a + F.layer_norm(h @ w_hh.t(), [w_hh.shape[0]], g_hh, b_hh)
        i, f, g, o = a.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(F.layer_norm(c, size, g_c, b_c))
        outputs.append(h)
    return torch.stack(outputs)


def gru_layer(x: Tensor, weights: list[Tensor]) -> Tensor:
    """Step by step as Eqs. (26)-(28) stand there."""
    w_ih, w_hh, b_ih, b_hh, g_ih, g_hh = weights
    size = w_hh.shape[1]
    both = 2 * size
    h = torch.zeros(x.shape[1], size)
    outputs = []
    for x_t in x.unbind(0):
        a, u = x_t @ w_ih.t(), h @ w_hh.t()
        gates = F.layer_norm(a[:, :both], [both], g_ih[:both], b_ih[:both])
        gates = gates + F.layer_norm(u[:, :both], [both], g_hh[:both], b_hh[:both])
        r, z = torch.sigmoid(gates).chunk(2, 1)
        n = F.layer_norm(a[:, both:], [size], g_ih[both:], b_ih[both:])
        n = torch.tanh(n + r * F.layer_norm(u[:, both:], [size], g_hh[both:], b_hh[both:]))
        h = h + z * (n - h)
        outputs.append(h)
    return torch.stack(outputs)


def layers(module: nn.Module) -> list[list[Tensor]]:
    """A network's parameters, a list a layer."""
    named = list(module.named_parameters())
    return [[p for n, p in named if n.endswith(f"_l{k}")] for k in range(module.num_layers)]


def in_torch(module: nn.Module, run: Callable[[Tensor], Tensor]) -> Call:
    """Of a forward pass in torch, the output or the gradients too."""
    parameters = [p for each in layers(module) for p in each]

    def call(x: Tensor, upstream: Tensor | None) -> tuple[Tensor, ...]:
        if upstream is None:
            with torch.no_grad():
                return (run(x),)
        output = run(x)
        return output.detach(), *torch.autograd.grad(output, parameters, upstream)

    return call


def stacked(module: nn.Module, layer: Layer) -> Call:
    def run(x: Tensor) -> Tensor:
        for parameters in layers(module):
            x = layer(x, parameters)
        return x

    return in_torch(module, run)


def torch_nn(module: nn.Module) -> Call:
    """torch.nn's network of the same sizes, which normalizes nothing: what layer norm is paid against."""
    kind = getattr(nn, type(module).__name__)
    plain = kind(module.input_size, module.hidden_size, module.num_layers)
    return in_torch(plain, lambda x: plain(x)[0])


def lnlib(module: nn.Module) -> Call:
    return in_torch(module, lambda x: module(x)[0])


def lnlib_plain(module: nn.Module) -> Call:
    def run(x: Tensor) -> Tensor:
        with rnn.plain():
            return module(x)[0]

    return in_torch(module, run)


def lnlib_recompute(module: nn.Module) -> Call:
    again = type(module)(module.input_size, module.hidden_size, module.num_layers, memory="recompute")
    again.load_state_dict(module.state_dict())
    return lnlib(again)


LAYERS: dict[str, Layer] = {"LSTM": lstm_layer, "GRU": gru_layer}


def loop(module: nn.Module) -> Call:
    return stacked(module, LAYERS[module.mode])


def scripted(module: nn.Module) -> Call:
    """The same loop under TorchScript, as in PyTorch's own benchmark of custom LSTMs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return stacked(module, torch.jit.script(LAYERS[module.mode]))


def jax_scan(module: nn.Module) -> Call:
    """The same step under JAX's compiler and `lax.scan`."""
    import jax
    import jax.numpy as jnp

    def norm(a, gain, bias):  # type: ignore[no-untyped-def]
        d = a - a.mean(1, keepdims=True)
        return gain * d / jnp.sqrt(jnp.square(d).mean(1, keepdims=True) + 1e-5) + bias

    def lstm(p, x):  # type: ignore[no-untyped-def]
        w_ih, w_hh, b_ih, b_hh, g_ih, g_hh, g_c, b_c = p

        def step(state, x_t):  # type: ignore[no-untyped-def]
            h, c = state
            a = norm(x_t @ w_ih.T, g_ih, b_ih) + norm(h @ w_hh.T, g_hh, b_hh)
            i, f, g, o = jnp.split(a, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(norm(c, g_c, b_c))
            return (h, c), h

        start = jnp.zeros((x.shape[1], w_hh.shape[1]))
        return jax.lax.scan(step, (start, start), x)[1]

    def gru(p, x):  # type: ignore[no-untyped-def]
        w_ih, w_hh, b_ih, b_hh, g_ih, g_hh = p
        k = 2 * w_hh.shape[1]

        def step(h, x_t):  # type: ignore[no-untyped-def]
            a, u = x_t @ w_ih.T, h @ w_hh.T
            gates = norm(a[:, :k], g_ih[:k], b_ih[:k]) + norm(u[:, :k], g_hh[:k], b_hh[:k])
            r, z = jnp.split(jax.nn.sigmoid(gates), 2, 1)
            n = jnp.tanh(norm(a[:, k:], g_ih[k:], b_ih[k:]) + r * norm(u[:, k:], g_hh[k:], b_hh[k:]))
            h = h + z * (n - h)
            return h, h

        return jax.lax.scan(step, jnp.zeros((x.shape[1], w_hh.shape[1])), x)[1]

    layer = lstm if module.mode == "LSTM" else gru
    weights = [[jnp.asarray(p.detach().numpy()) for p in each] for each in layers(module)]

    def run(weights, x):  # type: ignore[no-untyped-def]
        for p in weights:
            x = layer(p, x)
        return x

    def both(weights, x, upstream):  # type: ignore[no-untyped-def]
        output, back = jax.vjp(lambda w: run(w, x), weights)
        return output, back(upstream)[0]

    forward, backward = jax.jit(run), jax.jit(both)

    def call(x: Tensor, upstream: Tensor | None) -> tuple[Tensor, ...]:
        if upstream is None:
            return (torch.from_dlpack(forward(weights, x.numpy()).block_until_ready()),)
        output, gradients = jax.block_until_ready(backward(weights, x.numpy(), upstream.numpy()))
        return tuple(torch.from_dlpack(a) for a in (output, *(g for each in gradients for g in each)))

    return call


PEERS: dict[str, Callable[[nn.Module], Call]] = {
    "torch.nn, no norm": torch_nn,
    "lnlib": lnlib,
    "lnlib, recompute": lnlib_recompute,
    "lnlib, plain path": lnlib_plain,
    "loop": loop,
    "loop, TorchScript": scripted,
    "JAX scan": jax_scan,
}
