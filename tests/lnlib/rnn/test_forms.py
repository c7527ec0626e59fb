"""The forms a network lives in: text, state dicts, files, copies, devices; and packed batches."""

import copy
import io
from functools import partial
from typing import Any

import pytest
import torch
from networks import as_hx, draw, every_kind, every_network, random_network, start_of, states
from paths import Way
from torch import nn
from torch.nn.utils import parametrizations, prune
from torch.nn.utils.rnn import pack_sequence, unpack_sequence
from torch.testing import assert_close

import lnlib

D, H, T, N = 3, 4, 7, 3
DEEP = {"num_layers": 2, "bidirectional": True}

network = partial(random_network, (D, H))


@every_kind
def test_the_text_is_torchs_then_the_norm_and_what_differs_from_the_default(kind: str) -> None:
    options = {"num_layers": 2, "bias": False, "batch_first": True, "dropout": 0.5}
    theirs, build = repr(getattr(nn, kind)(D, H, **options)).removesuffix(")"), getattr(lnlib, kind)
    assert repr(build(D, H, **options)) == f"{theirs}, norm=layer)"
    shown = repr(build(D, H, **options, norm="rms", variant="joint", zoneout=0.1, memory="recompute"))
    assert shown == f"{theirs}, norm=rms, variant=joint, zoneout=0.1, memory=recompute)"


@pytest.mark.parametrize("options", [{}, {**DEEP, "bias": False}, {"norm": "none"}], ids=str)
@every_kind
def test_torchs_state_dict_lacks_only_what_the_norm_adds(kind: str, options: dict[str, Any]) -> None:
    ours, of_torch = network(kind, **options), {k: v for k, v in options.items() if k != "norm"}
    theirs = getattr(nn, kind)(D, H, **of_torch)
    assert list(ours.state_dict())[: len(theirs.state_dict())] == list(theirs.state_dict())
    missing, unexpected = ours.load_state_dict(theirs.state_dict(), strict=False)
    assert unexpected == []
    assert all(name.split("_l")[0] in ("gain_ih", "gain_hh", "gain_cell", "bias_cell") for name in missing)
    assert bool(missing) == ("norm" not in options)


@every_kind
def test_load_torch_copies_what_torch_has_as_it_acts(kind: str) -> None:
    theirs, ours = getattr(nn, kind)(D, H, **DEEP), network(kind, **DEEP)
    prune.random_unstructured(theirs, "weight_hh_l0", amount=0.5)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    ours.load_torch(theirs)
    for name, value in ours.state_dict().items():
        found = getattr(theirs, name, None)
        assert_close(value, before[name] if found is None else found.double(), rtol=0, atol=0)


@pytest.mark.parametrize("options", [{"norm": "layer"}, {"norm": "batch", "max_steps": 3}], ids=str)
@every_kind
def test_copies_and_files_compute_the_same_and_share_nothing(kind: str, options: dict[str, Any]) -> None:
    module = network(kind, **DEEP, **options)
    module(draw(T, N, D))  # moves batch norm's statistics
    copied, file = copy.deepcopy(module).eval(), io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    restored = getattr(lnlib, kind)(D, H, **DEEP, **options, dtype=torch.float64).eval()
    restored.load_state_dict(torch.load(file, weights_only=True))
    expected = module.eval()(draw(T, N, D))[0]
    with torch.no_grad():
        for value in module.parameters():
            value.zero_()
    for other in (copied, restored):
        assert_close(other(draw(T, N, D))[0], expected, rtol=0, atol=0)


@every_kind
def test_device_and_dtype_hold_for_every_parameter(kind: str) -> None:
    build = getattr(lnlib, kind)
    on_meta = build(D, H, device="meta", dtype=torch.bfloat16)
    assert all(p.device.type == "meta" and p.dtype == torch.bfloat16 for p in on_meta.parameters())
    module, x = build(D, H).double(), draw(T, N, D)
    assert module(x)[0].dtype == torch.float64
    empty = on_meta.to_empty(device="cpu").float()
    empty.load_state_dict(module.state_dict())
    # float32 through seven steps
    assert_close(empty(x.float())[0].double(), module(x)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", ["layer", "weight", "none"])
def test_pruned_and_parametrized_weights_count(norm: str) -> None:
    module, x = network("GRU", norm=norm), draw(T, N, D)
    before = module(x)[0]
    parametrizations.weight_norm(module, "weight_hh_l0")
    assert_close(module(x)[0], before, rtol=1e-12, atol=1e-12)
    prune.l1_unstructured(module, "weight_ih_l0", amount=0.5)
    assert (module(x)[0] - before).abs().max() > 1e-3
    module(x)[0].sum().backward()
    assert module.weight_ih_l0_orig.grad.abs().sum() > 0


@every_network
def test_a_packed_sequence_is_as_if_it_were_alone(kind: str, norm: str, way: Way) -> None:
    module = network(kind, norm=norm, dtype=way.dtype, **DEEP)
    sequences = [draw(n, D, seed=n, dtype=way.dtype).requires_grad_() for n in (2, 6, 1, 4)]
    hx = start_of(module, 4, way.dtype)
    leaves = [*sequences, *states(hx), *module.parameters()]
    with way.path():
        output, final = module(pack_sequence(sequences, enforce_sorted=False), hx)
        together = [*unpack_sequence(output), *states(final)]
        alone = [module(x, as_hx(tuple(s[:, k] for s in states(hx)))) for k, x in enumerate(sequences)]
        separately = [out for out, _ in alone]
        separately += [torch.stack(s, 1) for s in zip(*(states(last) for _, last in alone), strict=True)]
        directions = [draw(*t.shape, seed=k, dtype=way.dtype) for k, t in enumerate(separately)]
        mine, reference = (torch.autograd.grad(t, leaves, directions) for t in (together, separately))
    for a, b in zip([*together, *mine], [*separately, *reference], strict=True):
        assert_close(a, b, **way.close)
