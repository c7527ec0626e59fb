"""Section 6.7: networks by their equations, rolled pictures, which units are at the border, rows of runs."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lnbook.data import load
from lnbook.pages.sec6_7_convnets import experiment as convnet
from lnbook.pages.sec6_7_convnets.experiment import Classification, rolled
from lnbook.pages.sec6_7_convnets.model import ConvNet, columns, reaches_over
from lnbook.training import Machine, generators, train

CHANNELS, STRIDES, SIDE = (4, 8), (1, 2), 8
ALL: tuple[str, ...] = (*convnet.NORMS, *convnet.APART)


def make(norm: str) -> ConvNet:
    return ConvNet(SIDE, 3, (CHANNELS, STRIDES), norm, generators(0)[0], "zeros").double()


def cases(number: int, seed: int = 1) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.rand(number, 1, SIDE, SIDE, generator=draw, dtype=torch.float64)


def classification(**changes: str) -> Classification:
    task = Classification(
        convnet.EXPERIMENT.jobs("smoke", 0)[0] | {"norm": "layer"} | changes, "smoke", Machine()
    )
    task.updates, task.every = 4, 2
    return task


# ---------------------------------------------------------------------------------- the networks


@pytest.mark.parametrize("norm", ALL)
def test_a_network_computes_what_its_equations_say(norm: str) -> None:
    h = x = cases(6)
    net, (kind, _, apart) = make(norm), norm.partition(", ")
    # of cases, groups, the channels of each, positions
    axes = {"batch": (0, 3), "layer": (2, 3), "group": (2, 3), "position": (2,), "instance": (3,)}
    for level, (stride, (a, z)) in enumerate(zip(STRIDES, net.layers(x), strict=True)):
        conv = net.convolutions[level]
        expected = torch.nn.functional.conv2d(h, conv.weight, conv.bias, stride, 1)  # type: ignore[arg-type]
        torch.testing.assert_close(a, expected, rtol=1e-10, atol=1e-12)
        expected_z = a.flatten(2).unflatten(1, (4 if kind == "group" else 1, -1)).clone()
        over = net.over[level].flatten()
        regions = (over, ~over) if apart else (torch.ones_like(over),)
        for where in regions if kind in axes else ():
            expected_z[..., where] = standardized(expected_z[..., where], axes[kind])
        torch.testing.assert_close(z, expected_z.reshape(a.shape), rtol=1e-9, atol=1e-9)
        h = z.relu()
    logits = h.flatten(1) @ net.head.weight.T + net.head.bias
    torch.testing.assert_close(net(x), logits, rtol=1e-9, atol=1e-9)


def standardized(a: Tensor, axes: tuple[int, ...]) -> Tensor:
    var, mean = torch.var_mean(a, axes, correction=0, keepdim=True)
    return (a - mean) / (var + 1e-5).sqrt()


# ---------------------------------------------------------------------------------- the pictures


def test_rolled_pictures_keep_their_pixels_and_every_offset_is_as_likely() -> None:
    pixels = torch.randint(256, (50, 5, 5), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    moved, found = rolled(pixels, torch.Generator().manual_seed(1)), set()
    for old, new in zip(pixels, moved, strict=True):
        (offset,) = (ij for ij in product(range(5), repeat=2) if torch.equal(new.roll(ij, (-2, -1)), old))
        found.add(offset)
    assert len(found) > 15  # of 25, in 50 draws: fewer has a chance below 1e-6


# ---------------------------------------------------------------------------------- the border


def asked(size: int, strides: list[int]) -> list[Tensor]:
    """True where a layer of ones sees fewer of them than in a picture without an edge."""
    inside, found = torch.ones(1, 1, size, size), []
    for level, stride in enumerate(strides, 1):
        inside = torch.nn.functional.conv2d(inside, torch.ones(1, 1, 3, 3), stride=stride, padding=1)
        found.append((inside != 9**level)[0, 0])
    return found


@given(st.integers(6, 20), st.lists(st.integers(1, 2), min_size=1, max_size=3))
def test_units_see_past_the_edge_exactly_where_the_formula_says(size: int, strides: list[int]) -> None:
    for formula, answer in zip(reaches_over(size, strides), asked(size, strides), strict=True):
        assert torch.equal(formula, answer)


def test_columns_tell_the_border_from_the_center_and_channels_from_places() -> None:
    over, draw = reaches_over(5, [1]), torch.Generator().manual_seed(0)
    a = torch.randn(40, 6, 5, 5, generator=draw, dtype=torch.float64)
    a[..., over[0]] = 0.1 * a[..., over[0]] - 5
    row = columns([(a, a)], over)
    assert row["on_border_1"] == 0
    assert row["on_center_1"] == pytest.approx(0.5, abs=0.05)
    assert row["std_ratio_1"] == pytest.approx(0.1, abs=0.01)

    z = a + torch.arange(6.0)[:, None, None]
    row, total = columns([(a, z)], over), (z - z.mean()).square().sum()
    by_channel = z.mean((0, 2, 3), keepdim=True).expand_as(z)
    by_place = torch.where(over[0], z[..., over[0]].mean(), z[..., ~over[0]].mean()).expand_as(z)
    for key, means in {"channels_1": by_channel, "border_1": by_place}.items():
        assert row[key] == pytest.approx(float((means - z.mean()).square().sum() / total), abs=1e-5)


# ---------------------------------------------------------------------------------- the runs


def test_a_row_says_of_each_layer_where_its_border_stands() -> None:
    rows = train(classification()).rows
    assert [row["update"] for row in rows] == [0, 2, 4]
    kinds = ("on_border", "on_center", "std_ratio", "channels", "border")
    assert all(math.isfinite(rows[-1][f"{kind}_{level}"]) for kind in kinds for level in (1, 2, 3))
    assert rows[0]["test_cases"] == rows[-1]["test_cases"] == 360
    assert rows[-1]["valid_cases"] == len(load("digits").valid_x)


def test_validation_pictures_take_no_offset_from_the_test_pictures() -> None:
    images, (*_, offsets) = load("digits"), generators(0, 3)
    _, moved = (rolled(torch.from_numpy(x), offsets) for x in (images.train_x, images.test_x))
    assert torch.equal(classification(pictures="rolled").parts["test"][0], moved[:, None])


def test_the_statistics_of_a_new_batch_norm_are_the_cases_own_and_move_no_average() -> None:
    task = classification(norm="batch")
    before = {name: value.clone() for name, value in task.model.state_dict().items()}
    assert abs(task.overall(task.model)["channels_1"]) < 1e-6
    assert all(torch.equal(before[name], value) for name, value in task.model.state_dict().items())


def test_seeds_are_outermost_and_own_step_sizes_have_seeds_that_no_rule_has_seen() -> None:
    seen = [job["seed"] for job in convnet.EXPERIMENT.jobs("study", 0)]
    assert seen == sorted(seen)
    own = convnet.OWN.jobs("study", 0) + convnet.OWN_TEN.jobs("study", 0)
    assert not {*seen} & {job["seed"] for job in own}


@pytest.mark.usefixtures("nothing_there")
@pytest.mark.parametrize("scale", ["book", "study"])
def test_on_the_stand_in_every_layer_has_a_border_and_a_center_and_the_updates_are_those_of_clothes(
    scale: str,
) -> None:
    job = convnet.EXPERIMENT.jobs(scale, 0)[0]
    task = convnet.EXPERIMENT.task(job, scale, Machine())
    assert task.updates == round(job["epochs"] * (60_000 // 64))
    for border in task.model.over:
        assert 0 < border.double().mean() < 1
