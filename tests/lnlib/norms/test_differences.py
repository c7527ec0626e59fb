"""Each row of the table of differences to torch.nn, in the docstring of lnlib.norms, on both sides."""

import copy
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import lnlib.norms
from lnlib import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm

pytestmark = pytest.mark.usefixtures("as_users_call")

PAIRS: dict[str, tuple[nn.Module, nn.Module]] = {
    "batch": (BatchNorm(4), nn.BatchNorm1d(4)),
    "group": (GroupNorm(2, 4), nn.GroupNorm(2, 4)),
    "instance": (InstanceNorm(4), nn.InstanceNorm1d(4)),
    "layer": (LayerNorm(4), nn.LayerNorm(4)),
    "rms": (RMSNorm(4), nn.RMSNorm(4)),
}
REFUSED = (RuntimeError, NotImplementedError)


def overflow() -> None:
    a = torch.tensor([[1e30, -1e30, 1e30, -1e30]])
    assert torch.equal(LayerNorm(4)(a), torch.tensor([[1.0, -1.0, 1.0, -1.0]]))
    theirs = nn.LayerNorm(4)(a)
    assert (theirs.isnan() | (theirs == 0)).all()


def nothing() -> None:
    for name, (ours, theirs) in PAIRS.items():
        a = torch.zeros(2, 4, 0) if name not in ("layer", "rms") else torch.zeros(2, 0)
        if name in ("layer", "rms"):
            ours, theirs = type(ours)(0), type(theirs)(0)
        assert theirs(a).shape == a.shape
        with pytest.raises(ValueError, match="there is no mean of 0"):
            ours(a)


def shape() -> None:
    for ours, theirs in (PAIRS[name] for name in ("batch", "group", "layer", "rms")):
        with pytest.raises(RuntimeError):
            theirs(torch.zeros(2, 3))
        with pytest.raises(ValueError, match=r"shape"):
            ours(torch.zeros(2, 3))


def kinds() -> None:
    for name, (ours, theirs) in PAIRS.items():
        for dtype in (torch.int64, torch.complex64, torch.float8_e4m3fn):
            a = torch.zeros(2, 4, 4).to(dtype)
            with pytest.raises(TypeError, match="need floating point of 16 bits or more"):
                ours(a)
            if (name, dtype) == ("rms", torch.complex64):
                assert theirs(a).dtype == dtype
            else:
                with pytest.raises(REFUSED):
                    theirs(a)


def double() -> None:
    a = torch.randn(2, 4, 4, dtype=torch.float64)
    for name, (ours, theirs) in PAIRS.items():
        assert ours(a).dtype == torch.float64
        if name in ("instance", "rms"):
            assert theirs(a).dtype == torch.float64
        else:
            with pytest.raises(RuntimeError, match="mixed dtype"):
                theirs(a)


def strided() -> None:
    nested = torch.nested.nested_tensor([torch.zeros(3, 4), torch.zeros(5, 4)], layout=torch.strided)
    assert nn.LayerNorm(4)(nested).is_nested
    for layer in (LayerNorm(4), RMSNorm(4)):
        with pytest.raises(TypeError, match=r"must be jagged.*layout=torch\.jagged"):
            layer(nested)


def negative() -> None:
    for name, (ours, theirs) in PAIRS.items():
        a, pair = torch.randn(2, 4, 4), (copy.deepcopy(ours), copy.deepcopy(theirs))
        for layer in pair:
            layer.eps = -0.5
        if name == "batch":
            with pytest.raises(ValueError, match="eps must be positive"):
                pair[1](a)
        else:
            assert pair[1](a).shape == a.shape
        with pytest.raises(ValueError, match=r"eps is added to a variance.* it is -0\.5"):
            pair[0](a)


def zero() -> None:
    a = torch.tensor([[1.0], [3.0]])
    with pytest.raises(ValueError, match="eps must be positive"):
        nn.BatchNorm1d(1, eps=0.0)(a)
    assert torch.equal(BatchNorm(1, eps=0.0)(a), torch.tensor([[-1.0], [1.0]]))


def no_batch() -> None:
    for layer, count in ((nn.BatchNorm1d(4), 1), (BatchNorm(4), 0)):
        assert layer(torch.zeros(0, 4)).shape == (0, 4)
        assert layer.num_batches_tracked == count


def one_value() -> None:
    a = torch.ones(2, 4, 1)
    with pytest.raises(ValueError, match="more than 1 spatial element"):
        nn.InstanceNorm1d(4)(a)
    assert not InstanceNorm(4)(a).any()


def no_cases() -> None:
    assert nn.InstanceNorm1d(4)(torch.randn(4, 5)).shape == (4, 5)
    with pytest.raises(ValueError, match="axis 1 holds the 4 units"):
        InstanceNorm(4)(torch.randn(4, 5))


def channels() -> None:
    a = torch.randn(2, 3, 5)
    with pytest.warns(UserWarning, match="num_features"):
        assert nn.InstanceNorm1d(4)(a).shape == a.shape
    with pytest.raises(ValueError, match="axis 1 holds the 4 units"):
        InstanceNorm(4)(a)


def arguments() -> None:
    for name, value in {"momentum": 0.1, "track_running_stats": True}.items():
        nn.InstanceNorm1d(4, **{name: value})
        with pytest.raises(TypeError, match=name):
            InstanceNorm(4, **{name: value})


ROWS: dict[str, Callable[[], None]] = {
    "numbers whose squares overflow": overflow,
    "nothing to average, as space of size 0": nothing,
    "another shape than it was built for": shape,
    "integers, complex numbers, 8 bits": kinds,
    "float64, by a layer of float32": double,
    "nested tensors that are not jagged": strided,
    "a negative epsilon": negative,
    "BatchNorm: an epsilon of 0": zero,
    "BatchNorm: a batch without cases": no_batch,
    "InstanceNorm: one value a channel": one_value,
    "InstanceNorm: no axis of cases": no_cases,
    "InstanceNorm: other channels, no gain": channels,
    "InstanceNorm: momentum, running averages": arguments,
}


# torch's own notices, about what the rows show
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight:UserWarning")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype:UserWarning")
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors is a no-op:UserWarning")
@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_both_do(row: str) -> None:
    ROWS[row]()


def test_the_table_has_these_rows() -> None:
    table = lnlib.norms.__doc__.rsplit("\n=====", 2)[1]
    assert re.findall(r"^(\S.*?)  +\S", table, flags=re.M)[1:] == list(ROWS)


# --- and what does not differ --------------------------------------------------------------------

JAGGED = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype:UserWarning")


def jagged(*shape: int) -> Tensor:
    torch.manual_seed(0)
    parts = [torch.randn(length, *shape) + 3 for length in (3, 0, 5)]
    return torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)


@JAGGED
@pytest.mark.parametrize("units", [(4,), (2, 4)], ids=str)
@pytest.mark.parametrize(("ours", "theirs"), [(LayerNorm, nn.LayerNorm), (RMSNorm, nn.RMSNorm)])
def test_jagged_tensors_are_normalized_as_torch_does_and_fit_their_inputs(
    ours: type[nn.Module], theirs: type[nn.Module], units: tuple[int, ...]
) -> None:
    results = []
    for layer in (ours(units), theirs(units)):
        nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(1))
        a = jagged(2, 4)
        out = layer(a)
        assert (out + a).shape == a.shape  # the same ragged axis, not just the same lengths
        out.values().square().sum().backward()
        results.append([out.values(), a.grad.values(), layer.weight.grad])
    for mine, its in zip(*results, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-4)  # float32, sums of 16 squares


@JAGGED
def test_a_jagged_axis_may_stand_anywhere_but_in_the_last_axes() -> None:
    a = jagged(2, 4).detach().transpose(1, 2)
    for mine, its in zip(LayerNorm(4)(a).unbind(), nn.LayerNorm(4)(a).unbind(), strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-5, atol=1e-5)  # float32
    with pytest.raises(ValueError, match="must end in normalized_shape"):
        LayerNorm((8, 4))(a)  # the shape of all values, by chance


@pytest.mark.parametrize("layout", [torch.channels_last, torch.channels_last_3d, torch.contiguous_format])
def test_channels_stay_last_in_memory_where_torch_leaves_them(layout: torch.memory_format) -> None:
    shape = (2, 4, 3, 5, 6) if layout == torch.channels_last_3d else (2, 4, 5, 6)
    a = torch.randn(shape).to(memory_format=layout)
    pairs = [(GroupNorm(2, 4), nn.GroupNorm(2, 4)), (RMSNorm(shape[1:]), nn.RMSNorm(shape[1:]))]
    for ours, theirs in pairs:
        for dtype in (torch.float32, torch.bfloat16):
            mine, its = ours.to(dtype)(a.to(dtype)), theirs.to(dtype)(a.to(dtype))
            assert mine.stride() == its.stride() == a.stride()
