"""Section 6.6's networks: which layers are normalized, what batch size 1 does to batch norm, and the runs."""

import math
from typing import Any, get_args

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lnbook.data import load
from lnbook.shared import permutation_mnist as experiment
from lnbook.shared.classifiers import BatchNorm
from lnbook.shared.permutation_mnist import EXPERIMENT, RIGHT, Classification, Norm, network
from lnbook.training import Machine, generators, train
from lnbook.training.runs import run

ALL: tuple[Norm, ...] = get_args(Norm)
UNITS = (6, 5, 4, 3)


def make(norm: Norm, seed: int = 0, *, unbiased: bool = False) -> nn.Sequential:
    """A small network in double precision, biases moved off zero."""
    model = network(UNITS, norm, generators(seed)[0], unbiased=unbiased).double()
    draw = torch.Generator().manual_seed(9)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, generator=draw)
    return model


def weights(model: nn.Module) -> list[torch.Tensor]:
    """The weight matrices; weight norm's directions."""
    return [p for name, p in model.named_parameters() if p.ndim == 2 and not name.endswith("weight_g")]


def task(norm: Norm = "layer", **settings: Any) -> Classification:
    common = {"batch_size": 128, "seed": 0, "rows": 2, "updates": 4} | settings
    return Classification(load("digits"), (16, 16), Machine(), norm=norm, **common)


def test_networks_of_one_seed_start_from_the_same_weights_and_touch_no_global_state() -> None:
    before = torch.get_rng_state()
    first, *others = (weights(make(norm)) for norm in ALL)
    assert torch.equal(before, torch.get_rng_state())
    for ours in others:
        assert all(torch.equal(a, b) for a, b in zip(first, ours, strict=True))
    assert not torch.equal(first[0], weights(make("none", seed=1))[0])


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_networks_compute_what_their_equations_say(unbiased: bool) -> None:
    x = torch.randn(7, UNITS[0], generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for norm in ALL:
        model = make(norm, unbiased=unbiased)
        W = weights(model)
        b = [p for name, p in model.named_parameters() if name.endswith("bias")]
        b = [*map(nn.Parameter, (torch.zeros(5), torch.zeros(4))), *b] if norm == "rms" else b
        h = x
        for level in range(3):
            a = h @ W[level].T
            if norm in ("batch", "layer, logits too") or (
                norm in ("layer", "batch, hidden only") and level < 2
            ):
                axis, correction = (0, int(unbiased)) if norm.startswith("batch") else (1, 0)
                var, mean = torch.var_mean(a, axis, correction=correction, keepdim=True)
                a = (a - mean) / (var + 1e-5).sqrt()
            if norm == "rms" and level < 2:
                a = a / (a.square().mean(1, keepdim=True) + 1e-5).sqrt()
            h = a + b[level]
            h = h.relu() if level < 2 else h
        # weight norm's lengths are those of single precision
        tolerance = 1e-5 if norm == "weight" else 1e-10
        torch.testing.assert_close(model(x), h, rtol=tolerance, atol=tolerance)


def test_the_variance_is_unbiased_at_small_batches_that_have_one() -> None:
    for batch_size, unbiased in ((128, False), (4, True), (1, False)):
        layers = [m for m in task("batch", batch_size=batch_size).model if isinstance(m, BatchNorm)]
        assert [layer.unbiased for layer in layers] == [unbiased] * 3


def test_in_a_run_at_batch_size_1_batch_norm_learns_class_frequencies_and_the_others_learn_the_task() -> None:
    preview = experiment.preview("smoke", 0)
    jobs = [job for job in preview if job["batch_size"] == 1 and job["seed"] == 0]
    last = {o.job["norm"]: o.rows[-1] for o in run(EXPERIMENT, "smoke", jobs=jobs, processes=1)}
    # the entropy of ten classes, and what the moves of Adam's steps over 300 cases cost above it
    assert last["batch"]["train_loss"] == pytest.approx(math.log(10), abs=0.1)
    assert last["batch"]["test_error"] > 0.6
    for norm in ("none", "layer"):
        assert last[norm]["test_error"] < 0.5
        assert last[norm]["train_loss"] < 1.9


def test_measures_are_those_of_all_cases_at_once() -> None:
    images, ours = load("digits"), task()
    last = train(ours).rows[-1]
    with torch.no_grad():
        logits = ours.model.eval()(torch.from_numpy(images.test_x).flatten(1).float() / 16)
    y = torch.from_numpy(images.test_y)
    assert last["test_nll"] == pytest.approx(float(F.cross_entropy(logits, y)), rel=1e-5)
    assert last["test_error"] == pytest.approx(float((logits.argmax(1) != y).float().mean()))
    assert (last["valid_cases"], last["test_cases"]) == (119, 360)


def test_a_quick_run_measures_some_test_cases_and_all_of_them_at_the_end_and_selects_nothing() -> None:
    done = train(task(quick=50))
    assert [row["test_cases"] for row in done.rows] == [52, 52, 360]
    assert done.selected is None
    assert not any(key.startswith("valid") for row in done.rows for key in row)


def test_the_sizes_are_the_papers_and_figure_6_right_has_seeds_that_no_rule_has_seen() -> None:
    assert (experiment.DATA["paper"], experiment.HIDDEN["paper"]) == ("mnist", (1000, 1000))
    # as the rules' condition says
    wanted = {(128, 60, 1e-3): set(range(5)), (4, 60, 1e-3): set(range(200, 208))}
    found: dict[tuple[int, int, float], set[int]] = {}
    for job in (*EXPERIMENT.jobs("paper", 0), *RIGHT.jobs("paper", 0)):
        found.setdefault((job["batch_size"], job["epochs"], job["rate"]), set()).add(job["seed"])
        assert job["norm"] in ("none", "batch", "layer")
    assert found == wanted
