"""Section 6.6's networks: which layers are normalized, what batch size 1 does to batch norm, and the rows."""

import math
import time
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lnlib.data import load
from lnlib.experiments import permutation_mnist as experiment
from lnlib.experiments.permutation_mnist import NORMS, SCALES, Norm, Scale, learning_curves, measure, network
from lnlib.training import generators

UNITS = (6, 5, 4, 3)


def make(norm: Norm, seed: int = 0, *, unbiased: bool = False) -> nn.Sequential:
    """A small network in double precision, biases moved off zero."""
    model = network(UNITS, norm, generators(seed)[0], unbiased=unbiased).double()
    draw = torch.Generator().manual_seed(9)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, generator=draw)
    return model


def cases(number: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(number, UNITS[0], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def smoke() -> list[dict[str, Any]]:
    return learning_curves("smoke")


# ---------------------------------------------------------------------------------- the networks


def test_layer_norm_is_on_the_hidden_layers_only_and_batch_norm_on_all() -> None:
    kinds = {norm: [type(layer).__name__ for layer in make(norm)] for norm in NORMS}
    assert kinds["none"] == ["Linear", "ReLU"] * 2 + ["Linear"]
    assert kinds["layer"] == ["Linear", "LayerNorm", "ReLU"] * 2 + ["Linear"]
    assert kinds["batch"] == ["Linear", "BatchNorm", "ReLU"] * 2 + ["Linear", "BatchNorm"]


def test_every_layer_has_exactly_one_bias() -> None:
    for norm in NORMS:
        biases = [
            len(parameter) for name, parameter in make(norm).named_parameters() if name.endswith("bias")
        ]
        assert biases == [5, 4, 3]


def test_networks_of_one_seed_start_from_the_same_weights_and_touch_no_global_state() -> None:
    before = torch.get_rng_state()
    weights = [[p for p in make(norm).parameters() if p.ndim == 2] for norm in NORMS]
    assert torch.equal(before, torch.get_rng_state())
    for ours in weights[1:]:
        assert all(torch.equal(a, b) for a, b in zip(weights[0], ours, strict=True))
    other = next(make("none", seed=1).parameters())
    assert not torch.equal(weights[0][0], other)


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_networks_compute_what_their_equations_say(unbiased: bool) -> None:
    x = cases(7)
    for norm in NORMS:
        model = make(norm, unbiased=unbiased)
        W = [p for p in model.parameters() if p.ndim == 2]
        b = [p for name, p in model.named_parameters() if name.endswith("bias")]
        h = x
        for level in range(3):
            a = h @ W[level].T
            axis = {"none": None, "layer": None if level == 2 else 1, "batch": 0}[norm]
            if axis is not None:
                correction = int(unbiased and norm == "batch")
                var, mean = torch.var_mean(a, axis, correction=correction, keepdim=True)
                a = (a - mean) / (var + 1e-5).sqrt()
            h = a + b[level]
            h = h.relu() if level < 2 else h
        torch.testing.assert_close(model(x), h, rtol=1e-10, atol=1e-10)


def test_a_case_is_judged_by_itself_under_layer_norm_and_by_its_batch_under_batch_norm() -> None:
    first, others, more = cases(1), cases(3, seed=2), cases(3, seed=3)
    difference = {}
    for norm in NORMS:
        here, there = (make(norm)(torch.cat([first, company]))[0] for company in (others, more))
        difference[norm] = float((here - there).abs().max().detach())
    assert difference["none"] < 1e-12
    assert difference["layer"] < 1e-12
    assert difference["batch"] > 0.1


def test_layer_norm_does_not_see_the_scale_of_its_weights_and_the_plain_network_does() -> None:
    x = cases(4)
    for norm, most, least in (("layer", 1e-3, 0.0), ("none", math.inf, 0.1)):
        model = make(norm)  # type: ignore[arg-type]
        before = model(x)
        with torch.no_grad():
            next(model.parameters()).mul_(10)
        change = float((model(x) - before).abs().max().detach())
        assert least <= change < most


@pytest.mark.usefixtures("as_users_call")
def test_an_unknown_normalization_is_refused() -> None:
    with pytest.raises(ValueError, match=r"none, batch, layer, rms, not 'weight'"):
        network(UNITS, "weight", torch.Generator())  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------- batch norm, batch size 1


def test_batch_norm_of_one_case_gives_its_bias_whatever_the_input_and_no_gradient_to_weights_and_gains() -> (
    None
):
    model = make("batch")
    last_bias = dict(model.named_parameters())["7.bias"]
    for x in (cases(1), 1e6 * cases(1, seed=2), torch.zeros(1, 6, dtype=torch.float64)):
        model.zero_grad()
        logits = model(x)
        torch.testing.assert_close(logits[0], last_bias, rtol=0, atol=0)
        F.cross_entropy(logits, torch.tensor([1])).backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None
            moves = name == "7.bias"
            assert bool(parameter.grad.abs().max() > 0) == moves, name


def test_layer_norm_of_one_case_sees_the_input_and_trains_every_weight() -> None:
    model = make("layer")
    assert float((model(cases(1)) - model(cases(1, seed=2))).detach().abs().max()) > 0.1
    F.cross_entropy(model(cases(5)), torch.tensor([1, 0, 2, 1, 0])).backward()
    assert all(p.grad is not None and float(p.grad.abs().max()) > 0 for p in model.parameters())


def test_unbiased_batch_norm_of_one_case_is_refused() -> None:
    with pytest.raises(ValueError, match="unbiased"):
        make("batch", unbiased=True)(cases(1))


def test_in_a_run_at_batch_size_1_batch_norm_learns_class_frequencies_and_the_others_learn_the_task(
    smoke: list[dict[str, Any]],
) -> None:
    last = {row["norm"]: row for row in smoke if row["batch_size"] == 1 and row["seed"] == 0}
    assert last["batch"]["train_loss"] == pytest.approx(math.log(10), abs=0.1)
    assert last["batch"]["test_error"] > 0.6
    for norm in ("none", "layer"):
        assert last[norm]["test_error"] < 0.5
        assert last[norm]["train_loss"] < 1.9


# ---------------------------------------------------------------------------------- running averages


def test_evaluation_uses_running_averages_and_leaves_them_alone() -> None:
    layer = experiment.BatchNorm(6, unbiased=True).double()
    x = cases(4)
    for _ in range(200):
        layer(x)
    trained = layer(x)
    layer.eval()
    state = {name: value.clone() for name, value in layer.state_dict().items()}
    torch.testing.assert_close(layer(x), trained, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(layer(x[:1])[0], trained[0], rtol=1e-6, atol=1e-6)
    assert all(torch.equal(state[name], value) for name, value in layer.state_dict().items())


def test_single_cases_take_the_running_variance_to_zero_and_the_mean_along() -> None:
    layer = experiment.BatchNorm(6).double()
    for step in range(1, 4):
        layer(torch.full((1, 6), 2.0, dtype=torch.float64))
        assert layer.running_mean is not None
        assert layer.running_var is not None
        torch.testing.assert_close(
            layer.running_mean, torch.full_like(layer.running_mean, 2 * (1 - 0.9**step))
        )
        torch.testing.assert_close(layer.running_var, torch.full_like(layer.running_var, 0.9**step))


# ---------------------------------------------------------------------------------- measuring


def test_the_metrics_are_those_of_all_cases_at_once() -> None:
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 17, (2345, 6), generator=draw, dtype=torch.uint8)
    y = torch.randint(0, 3, (2345,), generator=draw)
    model = network(UNITS, "none", draw)
    metrics = measure(model, x, y, 16)
    with torch.no_grad():
        logits = model(x.float() / 16)
    assert metrics["test_nll"] == pytest.approx(float(F.cross_entropy(logits, y)), rel=1e-5)
    assert metrics["test_error"] == pytest.approx(float((logits.argmax(1) != y).float().mean()))
    assert metrics["test_cases"] == 2345


# ---------------------------------------------------------------------------------- the rows


def test_every_setting_is_run_with_every_seed_and_recorded_from_start_to_end(
    smoke: list[dict[str, Any]],
) -> None:
    size = SCALES["smoke"]
    runs: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in smoke:
        runs.setdefault((row["norm"], row["batch_size"], row["seed"]), []).append(row)
    assert list(runs) == [(norm, b, s) for norm in NORMS for b in (128, 4, 1) for s in range(size.seeds)]
    for (_, batch_size, _), rows in runs.items():
        updates = [row["update"] for row in rows]
        assert updates[0] == 0
        assert updates[-1] == size.updates[batch_size]
        assert updates == sorted(set(updates))
        assert len(updates) == size.points + 1
        assert all(row["cases_seen"] == row["update"] * batch_size for row in rows)
        assert all(math.isfinite(row["test_nll"]) and 0 <= row["test_error"] <= 1 for row in rows)
    columns = ["norm", "batch_size", "seed", "update", "cases_seen", "seconds", "train_loss"]
    columns += ["test_nll", "test_error", "test_cases"]
    assert all(list(row) == columns for row in smoke)


def test_everything_at_smoke_scale_takes_seconds_and_learns(smoke: list[dict[str, Any]]) -> None:
    start = time.process_time()
    again = learning_curves("smoke")
    assert time.process_time() - start < 20
    assert without_clock(again) == without_clock(smoke)
    for row in smoke:
        if row["update"] == 120 and row["batch_size"] == 128:
            assert row["test_error"] < 0.3


def test_seeds_count_up_from_the_first_and_differ(smoke: list[dict[str, Any]]) -> None:
    second = learning_curves("smoke", seed=1, norms=["none"], batch_sizes=[4])
    ours = [row for row in smoke if (row["norm"], row["batch_size"], row["seed"]) == ("none", 4, 1)]
    assert without_clock(second)[: len(ours)] == without_clock(ours)
    assert {row["seed"] for row in second} == {1, 2}
    losses = [{row["train_loss"] for row in second if row["seed"] == seed} - {None} for seed in (1, 2)]
    assert not losses[0] & losses[1]


def test_two_processes_give_the_rows_of_one(smoke: list[dict[str, Any]]) -> None:
    parallel = learning_curves("smoke", batch_sizes=[128, 4], processes=2)
    assert without_clock(parallel) == without_clock([row for row in smoke if row["batch_size"] != 1])


def test_the_last_row_is_measured_on_all_test_cases_and_those_before_on_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = Scale("digits", (8, 8), 1, {4: 10}, points=2, test_cases=50, processes=1)
    monkeypatch.setitem(SCALES, "tiny", size)
    rows = learning_curves("tiny")
    assert [row["test_cases"] for row in rows[:3]] == [52, 52, 360]


def test_unknown_scales_and_batch_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"smoke, book, paper, not 'large'"):
        learning_curves("large")
    with pytest.raises(ValueError, match=r"\[1, 4, 128\], not \[64\]"):
        learning_curves("smoke", batch_sizes=[64])


def test_the_sizes_are_the_papers_where_the_paper_gives_them() -> None:
    for scale in ("book", "paper"):
        assert (SCALES[scale].data, SCALES[scale].hidden) == ("mnist", (1000, 1000))
        assert {128, 4} <= set(SCALES[scale].updates)
    epochs = {size: updates * size / 55_000 for size, updates in SCALES["paper"].updates.items()}
    assert epochs == {128: pytest.approx(60, rel=0.01), 4: 60}


def test_one_run_of_the_full_network_on_what_data_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    images = load("mnist", on_stand_in="silent")
    monkeypatch.setitem(SCALES, "short", Scale("mnist", (1000, 1000), 1, {4: 30}, 1, 50, 1))
    arrays = (images.train_x, images.train_y, images.test_x[:500], images.test_y[:500])
    rows = experiment.train(arrays, images.peak, norm="layer", batch_size=4, seed=0, scale="short")
    assert rows[-1]["test_nll"] < rows[0]["test_nll"]
    assert np.isfinite(rows[-1]["train_loss"])
