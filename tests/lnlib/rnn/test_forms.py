"""The forms a network lives in: text, state dicts, files, copies, devices; streams and packed batches."""

import copy
import io
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
from networks import random_network
from paths import WAYS, Way
from torch import Tensor, nn
from torch.nn.utils import parametrizations, prune
from torch.nn.utils.rnn import pack_sequence, unpack_sequence
from torch.testing import assert_close

import lnlib
from lnlib.rnn.variants import VARIANTS

pytestmark = pytest.mark.grid

EXACT = WAYS["plain double"].close
ROWS = [(kind, "layer", variant) for kind, rows in VARIANTS.items() for variant in rows]
ROWS += [(kind, norm, "paper") for kind in VARIANTS for norm in ("rms", "weight", "none")]
every_row = pytest.mark.parametrize(("kind", "norm", "variant"), ROWS, ids=[" ".join(row) for row in ROWS])
every_kind = pytest.mark.parametrize("kind", list(VARIANTS))
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
D, H, T, N = 3, 4, 7, 3


network = partial(random_network, (D, H))


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def states(hx: Any) -> tuple[Tensor, ...]:
    return hx if isinstance(hx, tuple) else (hx,)


def as_hx(parts: tuple[Tensor, ...]) -> Any:
    return parts if len(parts) > 1 else parts[0]


# --- text and state dicts ------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_layers": 2, "dropout": 0.5, "batch_first": True},
        {"bias": False, "bidirectional": True},
        {"num_layers": 3, "bias": False, "batch_first": True, "dropout": 0.25, "bidirectional": True},
    ],
    ids=str,
)
def test_the_text_is_torchs_plus_the_norm(kind: str, options: dict[str, Any]) -> None:
    theirs = repr(getattr(nn, kind)(D, H, **options)).removesuffix(")")
    for norm in ("layer", "rms", "weight", "none"):
        assert repr(getattr(lnlib, kind)(D, H, **options, norm=norm)) == f"{theirs}, norm={norm})"
    for variant in VARIANTS[kind]:
        shown = "" if variant == "paper" else f", variant={variant}"
        assert repr(getattr(lnlib, kind)(D, H, **options, variant=variant)) == f"{theirs}, norm=layer{shown})"


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}], ids=str)
@every_row
def test_torchs_state_dict_lacks_only_what_the_norm_adds(
    kind: str, norm: str, variant: str, options: dict[str, Any]
) -> None:
    theirs, ours = getattr(nn, kind)(D, H, **options), network(kind, norm=norm, variant=variant, **options)
    missing, unexpected = ours.load_state_dict(theirs.state_dict(), strict=False)
    assert unexpected == []
    assert set(missing) == set(ours.state_dict()) - set(theirs.state_dict())
    added = ("gain_ih", "gain_hh", "gain_cell", "bias_cell", "bias_inner")
    assert all(name.split("_l")[0] in added for name in missing)
    assert bool(missing) == (norm != "none")
    for name, value in theirs.state_dict().items():
        assert_close(ours.state_dict()[name], value.double(), rtol=0, atol=0)


@every_kind
def test_torchs_parameters_come_first_and_in_torchs_order(kind: str) -> None:
    theirs = list(getattr(nn, kind)(D, H, num_layers=2, bidirectional=True).state_dict())
    ours = list(network(kind, num_layers=2, bidirectional=True).state_dict())
    assert ours[: len(theirs)] == theirs


@every_row
def test_load_torch_copies_what_torch_has(kind: str, norm: str, variant: str) -> None:
    options = {"num_layers": 2, "bidirectional": True}
    theirs, ours = getattr(nn, kind)(D, H, **options), network(kind, norm=norm, variant=variant, **options)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    ours.load_torch(theirs)
    for name, value in ours.state_dict().items():
        if name in theirs.state_dict():
            assert_close(value, theirs.state_dict()[name].double(), rtol=0, atol=0)
        elif norm != "weight":  # its gains are torch's too: the lengths of the rows
            assert torch.equal(value, before[name])


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (nn.GRU(D, H), "mode"),
        (nn.LSTM(D + 1, H), r"'input_size': \(4, 3\)"),
        (nn.LSTM(D, H, 2), "num_layers"),
        (nn.LSTM(D, H, bias=False), "bias"),
        (nn.LSTM(D, H, bidirectional=True), "bidirectional"),
        (nn.LSTM(D, H, proj_size=2), "proj_size"),
    ],
    ids=str,
)
def test_load_torch_names_what_differs(theirs: nn.RNNBase, words: str) -> None:
    with pytest.raises(ValueError, match=rf"differ in .*{words}.*build both alike"):
        network("LSTM").load_torch(theirs)


@pytest.mark.usefixtures("as_users_call")
def test_load_torch_wants_a_recurrent_module() -> None:
    with pytest.raises(TypeError, match=r"module is a Linear; give a torch\.nn\.RNN"):
        network("LSTM").load_torch(nn.Linear(D, H))


# --- copies, files, devices ----------------------------------------------------------------------


@every_row
def test_copies_and_files_compute_the_same_and_share_nothing(kind: str, norm: str, variant: str) -> None:
    module = network(kind, norm=norm, variant=variant, num_layers=2, bidirectional=True)
    copied = copy.deepcopy(module)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    restored = getattr(lnlib, kind)(
        D, H, norm=norm, variant=variant, num_layers=2, bidirectional=True, dtype=torch.float64
    )
    restored.load_state_dict(torch.load(file, weights_only=True))
    expected = module(draw(T, N, D))[0]
    with torch.no_grad():
        for value in module.parameters():
            value.zero_()
    for other in (copied, restored):
        assert_close(other(draw(T, N, D))[0], expected, rtol=0, atol=0)


@every_kind
def test_flatten_parameters_does_nothing(kind: str) -> None:
    module = network(kind)
    before = {name: (value.data_ptr(), value.clone()) for name, value in module.named_parameters()}
    assert module.flatten_parameters() is None
    assert all(
        before[name][0] == p.data_ptr() and torch.equal(before[name][1], p)
        for name, p in module.named_parameters()
    )


@every_row
def test_device_and_dtype_hold_for_every_parameter(kind: str, norm: str, variant: str) -> None:
    build = getattr(lnlib, kind)
    on_meta = build(D, H, norm=norm, variant=variant, device="meta", dtype=torch.bfloat16)
    assert all(p.device.type == "meta" and p.dtype == torch.bfloat16 for p in on_meta.parameters())
    module = build(D, H, norm=norm, variant=variant).double()
    assert all(p.dtype == torch.float64 for p in module.parameters())
    assert module(draw(T, N, D))[0].dtype == torch.float64
    empty = on_meta.to_empty(device="cpu").float()
    empty.load_state_dict(module.state_dict())
    assert_close(empty(draw(T, N, D).float())[0].double(), module(draw(T, N, D))[0], rtol=1e-4, atol=1e-4)


@every_row
def test_an_optimizer_moves_every_parameter(kind: str, norm: str, variant: str) -> None:
    module = network(kind, norm=norm, variant=variant, num_layers=2, bidirectional=True)
    before = {name: value.clone() for name, value in module.named_parameters()}
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    loss = lambda: (module(draw(T, N, D))[0] - draw(T, N, 2 * H, seed=1)).square().mean()  # noqa: E731
    first = loss()
    first.backward()
    optimizer.step()
    assert all(not torch.equal(before[name], value) for name, value in module.named_parameters())
    assert loss() < first


@every_way
@every_row
def test_frozen_parameters_get_no_gradient_and_change_no_other(
    kind: str, norm: str, variant: str, way: Way
) -> None:
    free, frozen = (network(kind, norm=norm, dtype=way.dtype, variant=variant) for _ in range(2))
    still = [name for k, (name, _) in enumerate(frozen.named_parameters()) if k % 2]
    for name in still:
        frozen.get_parameter(name).requires_grad_(False)
    with way.path():
        for module in (free, frozen):
            module(draw(T, N, D, dtype=way.dtype))[0].square().sum().backward()
    for name, value in frozen.named_parameters():
        if name in still:
            assert value.grad is None
        else:
            assert_close(value.grad, free.get_parameter(name).grad, **way.close)


@every_row
def test_pruned_and_parametrized_weights_count(kind: str, norm: str, variant: str) -> None:
    module, x = network(kind, norm=norm, variant=variant), draw(T, N, D)
    before = module(x)[0]
    parametrizations.weight_norm(module, "weight_hh_l0")
    assert_close(module(x)[0], before, **EXACT)
    prune.l1_unstructured(module, "weight_ih_l0", amount=0.5)
    assert (module(x)[0] - before).abs().max() > 1e-3
    module(x)[0].sum().backward()
    assert module.weight_ih_l0_orig.grad.abs().sum() > 0


# --- streams -------------------------------------------------------------------------------------


@every_way
@every_row
@pytest.mark.parametrize("cuts", [range(1, T), [3], [2, 3, 6]], ids=["steps", "halves", "chunks"])
def test_a_stream_gives_what_the_whole_gives(
    kind: str, norm: str, variant: str, cuts: list[int], way: Way
) -> None:
    module = network(kind, norm=norm, dtype=way.dtype, variant=variant, num_layers=2)
    x = draw(T, N, D, dtype=way.dtype)
    with way.path():
        whole, final = module(x)
        parts, hx = [], None
        for start, stop in pairwise([0, *cuts, T]):
            out, hx = module(x[start:stop], hx)
            parts.append(out)
    assert_close(torch.cat(parts), whole, **way.close)
    for a, b in zip(states(hx), states(final), strict=True):
        assert_close(a, b, **way.close)


@every_way
@every_row
def test_gradients_through_chunks_are_the_wholes_and_stop_where_detached(
    kind: str, norm: str, variant: str, way: Way
) -> None:
    module, x, target = (
        network(kind, norm=norm, dtype=way.dtype, variant=variant),
        draw(T, N, D, dtype=way.dtype),
        draw(T, N, H, seed=1, dtype=way.dtype),
    )

    def gradients(detach: bool) -> list[Tensor]:
        hx, loss = None, torch.zeros(())
        for start, stop in pairwise([0, 3, 5, T]):
            out, hx = module(x[start:stop], hx)
            loss = loss + (out * target[start:stop]).sum()
            hx = as_hx(tuple(s.detach() for s in states(hx))) if detach else hx
        return list(torch.autograd.grad(loss, list(module.parameters())))

    with way.path():
        whole = torch.autograd.grad((module(x)[0] * target).sum(), list(module.parameters()))
        chunked, truncated = gradients(detach=False), gradients(detach=True)
        # Truncated by hand: each chunk alone, from the whole's state at its start, a constant.
        by_hand = [torch.zeros_like(p) for p in module.parameters()]
        for start, stop in pairwise([0, 3, 5, T]):
            hx = as_hx(tuple(s.detach() for s in states(module(x[:start])[1]))) if start else None
            loss = (module(x[start:stop], hx)[0] * target[start:stop]).sum()
            by_hand = [
                a + b
                for a, b in zip(by_hand, torch.autograd.grad(loss, list(module.parameters())), strict=True)
            ]
    for a, b in zip(chunked, whole, strict=True):
        assert_close(a, b, **way.close)
    for a, b in zip(truncated, by_hand, strict=True):
        assert_close(a, b, **way.close)
    assert max((a - b).abs().max() for a, b in zip(truncated, whole, strict=True)) > 1e-3


# --- packed sequences ----------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}], ids=["one", "deep"])
@every_row
def test_a_packed_sequence_is_as_if_it_were_alone(
    kind: str, norm: str, variant: str, options: dict[str, Any], way: Way
) -> None:
    module = network(kind, norm=norm, dtype=way.dtype, variant=variant, **options)
    sequences = [draw(n, D, seed=n, dtype=way.dtype).requires_grad_() for n in (2, 6, 1, 4)]
    rows = module.num_layers * (1 + module.bidirectional)
    hx = tuple(
        draw(rows, 4, H, seed=9 + k, dtype=way.dtype).requires_grad_()
        for k in range(2 if kind == "LSTM" else 1)
    )
    leaves = [*sequences, *hx, *module.parameters()]
    with way.path():
        output, final = module(pack_sequence(sequences, enforce_sorted=False), as_hx(hx))
        together = [*unpack_sequence(output), *states(final)]
        alone = [module(x, as_hx(tuple(s[:, k] for s in hx))) for k, x in enumerate(sequences)]
        separately = [out for out, _ in alone]
        separately += [torch.stack(s, 1) for s in zip(*(states(last) for _, last in alone), strict=True)]
        directions = [torch.randn_like(t) for t in separately]
        mine, reference = (torch.autograd.grad(t, leaves, directions) for t in (together, separately))
    for a, b in zip([*together, *mine], [*separately, *reference], strict=True):
        assert_close(a, b, **way.close)


@every_way
@every_row
def test_padding_changes_nothing_before_it(kind: str, norm: str, variant: str, way: Way) -> None:
    module, x = (
        network(kind, norm=norm, dtype=way.dtype, variant=variant, num_layers=2),
        draw(T, N, D, dtype=way.dtype),
    )
    garbage = torch.cat([x, 1e6 * draw(2, N, D, seed=5, dtype=way.dtype)])
    with way.path():
        assert_close(module(garbage)[0][:T], module(x)[0], **way.close)


@every_way
@every_row
def test_a_case_of_a_batch_is_as_if_it_were_alone(kind: str, norm: str, variant: str, way: Way) -> None:
    module, x = (
        network(kind, norm=norm, dtype=way.dtype, variant=variant, num_layers=2, bidirectional=True),
        draw(T, N, D, dtype=way.dtype),
    )
    with way.path():
        for k in range(N):
            assert_close(module(x)[0][:, k], module(x[:, k])[0], **way.close)


def test_a_pruned_module_is_copied_as_it_acts_and_a_pruned_network_refuses() -> None:
    theirs, ours = torch.nn.LSTM(3, 4), lnlib.LSTM(3, 4)
    torch.nn.utils.prune.random_unstructured(theirs, "weight_hh_l0", amount=0.5)
    ours.load_torch(theirs)
    assert torch.equal(ours.weight_hh_l0, theirs.weight_hh_l0)
    torch.nn.utils.prune.identity(ours, "weight_hh_l0")
    with pytest.raises(ValueError, match=r"weight_hh_l0.*pruned"):
        ours.load_torch(theirs)
