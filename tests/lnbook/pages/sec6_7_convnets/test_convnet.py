"""Section 6.7's networks: what each norm shares, what rolls with the picture, and the rows of the runs."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from lnbook.data import load
from lnbook.pages.sec6_7_convnets import experiment as convnet
from lnbook.pages.sec6_7_convnets.experiment import Classification, rolled
from lnbook.pages.sec6_7_convnets.model import BorderApart, ConvNet
from lnbook.training import Machine, generators, train
from lnlib.norms import GroupNorm

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


def test_a_layer_that_is_all_border_is_normalized_as_one() -> None:
    a = torch.randn(3, 4, 2, 2, generator=torch.Generator().manual_seed(0))
    apart = BorderApart(4, torch.ones(2, 2, dtype=torch.bool), lambda: GroupNorm(1, 4, affine=False))
    torch.testing.assert_close(apart(a), GroupNorm(1, 4)(a))


# ---------------------------------------------------------------------------------- the pictures


def test_rolled_pictures_keep_their_pixels_and_every_offset_is_as_likely() -> None:
    pixels = torch.randint(256, (50, 5, 5), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    before = pixels.clone()
    moved = rolled(pixels, torch.Generator().manual_seed(1))
    assert torch.equal(pixels, before)
    assert moved.shape == pixels.shape
    found = set()
    for old, new in zip(pixels, moved, strict=True):
        offsets = [
            (i, j) for i in range(5) for j in range(5) if torch.equal(new, old.roll((-i, -j), (-2, -1)))
        ]
        assert len(offsets) == 1
        found.add(offsets[0])
    assert len(found) > 15  # of 25, in 50 draws: fewer has a chance below 1e-6


# ---------------------------------------------------------------------------------- the runs


def test_a_row_says_of_each_layer_where_its_border_stands() -> None:
    rows = train(classification()).rows
    assert [row["update"] for row in rows] == [0, 2, 4]
    kinds = ("on_border", "on_center", "rare_border", "std_ratio", "shift", "channels", "border", "dead")
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


def test_seeds_are_outermost() -> None:
    seeds = [job["seed"] for job in convnet.EXPERIMENT.jobs("study", 7)]
    assert seeds == sorted(seeds)


def test_own_step_sizes_have_seeds_that_no_rule_has_seen() -> None:
    seen = {job["seed"] for job in convnet.EXPERIMENT.jobs("study", 0)}
    jobs = convnet.OWN.jobs("study", 0) + convnet.OWN_TEN.jobs("study", 0)
    assert not seen & {job["seed"] for job in jobs}


@pytest.mark.parametrize("scale", ["book", "study"])
def test_on_the_stand_in_every_layer_has_a_border_and_a_center_and_the_updates_are_those_of_clothes(
    scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    job = convnet.EXPERIMENT.jobs(scale, 0)[0]
    task = convnet.EXPERIMENT.task(job, scale, Machine())
    assert task.updates == round(job["epochs"] * (60_000 // 64))
    for border in task.model.over:
        assert 0 < border.double().mean() < 1
