"""What a reader meets in a browser: the numbers, marks and words of each figure follow its controls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, said, settled

from lnbook.explore import builder
from lnbook.explore import fisher_ellipse as ellipse
from lnbook.explore import recurrent_drift as drift
from lnbook.pages.beyond_convolution.reductions import FIVE, normalize
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm, rms_norm

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(chromium, tmp_path) -> Any:
    """Opens a figure's page by its name, and holds that nothing went wrong on it."""

    @contextmanager
    def opened(name: str, **context: Any) -> Iterator[Any]:
        path = Path(tmp_path) / "figure.html"
        path.write_text(builder(name)().to_html(), encoding="utf-8")
        with chromium.open_page(path, **context) as (page, errors, failed):
            yield page
            assert (errors, failed) == ([], [])

    return opened


def given(name: str, key: str = "a") -> torch.Tensor:
    return torch.tensor(builder(name)().state[key], dtype=torch.float64)


def numbers(texts: Any) -> list[float]:
    """What is printed; blanks left out."""
    return [float(text.replace("−", "-")) for text in texts.all_inner_texts() if text]


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name).click()


def test_axis_flip_a_changed_cell_marks_the_outputs_that_depend_on_it(opened):
    a = given("axis_flip")
    changed = a.clone()
    changed[2, 2] += 0.5
    column, row = {(i, 2) for i in range(6)}, {(2, j) for j in range(8)}
    with opened("axis_flip") as page:
        for norm, out, moves, words in (
            ("none", changed, {(2, 2)}, "1 of 48 outputs moved, all in case 3."),
            ("batch", batch_norm(changed), column, "6 of 48 outputs moved, in 6 cases."),
            ("layer", layer_norm(changed), row, "8 of 48 outputs moved, all in case 3."),
        ):
            page.locator(f"label.{norm}").click()
            page.locator('[role="grid"] .cell').nth(8 + 2).click()
            page.keyboard.press("ArrowDown")
            page.keyboard.press("+")
            cells = page.locator('[role="table"] .cell')
            np.testing.assert_allclose(numbers(cells), out.flatten(), atol=0.0500001)
            stats = torch.cat([out.mean(0), out.std(0, correction=0)])
            shown = numbers(page.locator('[role="table"] .stat'))[:16]
            np.testing.assert_allclose(shown, stats, atol=0.0050001)
            found = cells.evaluate_all("all => all.map(cell => cell.classList.contains('moved'))")
            assert {divmod(k, 8) for k, moved in enumerate(found) if moved} == moves
            assert words in said(page)
            press(page, "Reset")
        page.get_by_role("slider").press("Home")
        assert "so one case is enough" in said(page)
        page.locator("label.batch").click()
        assert said(page).startswith("Batch norm has nothing to read.")
        assert numbers(page.locator('[role="table"] .cell')) == [0.0] * 8


@pytest.mark.parametrize(("preference", "running"), [("no-preference", 2), ("reduce", 0)])
def test_axis_flip_nothing_moves_for_readers_who_asked_for_less_motion(opened, preference, running):
    with opened("axis_flip", reduced_motion=preference) as page:
        count = """section => {
          section.querySelector('label.layer input').click();
          return section.getAnimations({ subtree: true }).length;
        }"""
        assert page.locator("section").evaluate(count) == running


def test_case_scale_shows_what_lnlib_computes_and_says_it_in_words(opened):
    with opened("case_scale") as page:
        for name, delta, eps, words in (
            ("Three times", 3.0, 0.0, "Layer norm does not notice. With case 1 times 3.00, 4 numbers move"),
            ("Negative", -1.0, 0.0, "Layer norm turns the sign of this case"),
            ("A twentieth, with ε", 0.05, 1e-3, "Layer norm notices, because ε is not small"),
        ):
            press(page, name)
            a = given("case_scale")
            a[0] *= delta
            for norm, out in (
                ("none", a),
                ("batch", batch_norm(a, eps=eps)),
                ("layer", layer_norm(a, eps=eps)),
            ):
                shown = numbers(page.locator(f".{norm} .bars span"))
                np.testing.assert_allclose(shown, out.flatten(), atol=0.00501, err_msg=norm)
            assert settled(page).startswith(words)
            assert "Batch norm moves 16" in settled(page)
        page.get_by_role("radio", name="3").check()
        assert page.locator(".layer .chosen p").inner_text().startswith("case 3")
        page.get_by_role("slider", name="ε, added").press("End")
        assert page.get_by_role("slider", name="ε, added").get_attribute("aria-valuetext") == "1e−1"


def test_fisher_ellipse_says_what_lnlib_computes_and_a_tap_puts_the_weights_there(opened):
    state = ellipse.fisher_ellipse().state
    with opened("fisher_ellipse", has_touch=True) as page:
        for norm, (name, _) in ellipse.MODELS.items():
            page.get_by_role("radio", name=name).check()
            page.get_by_role("radio", name="Bernoulli").check()
            one, two = (ellipse.metric(state, norm, "bernoulli", r, ellipse.DEGREES) for r in (1.0, 2.0))
            text, strip = settled(page), norm in ("batch", "weight", "layer")
            along = "0" if strip else f"×{float(two[0, 0] / one[0, 0]):.2f}"
            ratio = float(two[1, 1] / one[1, 1])
            assert f"|w| = 2: the metric is ×{ratio:.2f} across w, {along} along it." in text
            assert ("the Fisher ellipse is open, a strip" in text) == strip
            assert f"Across w it is {one[1, 1]:.3f} at |w| = 1 and here {two[1, 1]:.3f}." in text
        plot = page.locator(".plane .plot")
        box = plot.bounding_box()
        at = {"x": box["width"] * (3.6 - 1.45) / 7.2, "y": box["height"] * (3.6 - 1.45) / 4.5}
        plot.tap(position=at)
        assert page.locator(".range b").all_inner_texts()[:2] == ["2.05", "135"]  # 1.45 times the root of 2


def test_five_reductions_the_table_holds_memory_order_and_marks_the_set(opened):
    a = given("five_reductions")
    flags = torch.zeros(a.shape, dtype=torch.bool)
    flags[1, 2, 1, 0] = True  # case, channel, row, column
    inside = {
        "batch": np.s_[:, 2],
        "layer": np.s_[1],
        "instance": np.s_[1, 2],
        "group": np.s_[1, 2:],
        "channels": np.s_[1, :, 1, 0],
    }
    with opened("five_reductions") as page:
        cells = page.locator("[role=gridcell]")
        for layout, turn in {
            "NHWC": lambda t: t.permute(0, 2, 3, 1),
            "NTC": lambda t: t.flatten(2).mT,
        }.items():
            page.get_by_text(layout, exact=True).click()
            cells.nth(int(turn(flags).flatten().int().argmax())).click()
            np.testing.assert_allclose(numbers(cells), turn(a).flatten())
            for norm, part in inside.items():
                title = FIVE[norm].title
                page.get_by_text(title[0].upper() + title[1:], exact=True).click()
                members = torch.zeros_like(flags)
                members[part] = True
                found = cells.evaluate_all("all => all.map(cell => cell.classList.contains('in'))")
                assert found == turn(members).flatten().tolist()
                assert f"{int(members.sum())} numbers share a mean" in said(page)
                page.get_by_role("checkbox").check()
                out = turn(normalize(a, norm, groups=2, eps=1e-5)).flatten()
                np.testing.assert_allclose(numbers(cells), out, atol=0.0500001)
                page.get_by_role("checkbox").uncheck()
        page.keyboard.press("Tab")
        cells.first.focus()
        page.keyboard.press("ArrowRight")
        label = "e => e.getRootNode().activeElement.getAttribute('aria-label')"
        assert cells.first.evaluate(label).startswith("case 1, channel 2, step 1:")


def test_gain_and_bias_the_buttons_show_what_comes_back_and_what_does_not(opened):
    a = given("gain_and_bias")
    mean, std = a.mean(), a.std(correction=0)
    with opened("gain_and_bias") as page:
        for name, delta, gain, bias in (
            ("Then twice as loud", 2, std, mean),
            ("Gain 0, bias 1", 1, 0.0, 1.0),
            ("Give the case back", 1, std, mean),
        ):
            press(page, name)
            hat = layer_norm(delta * a, eps=0.0)
            for kind, want in (("none", delta * a), ("hat", hat), ("layer", gain * hat + bias)):
                shown = numbers(page.locator(f".{kind} .bars span"))
                np.testing.assert_allclose(shown, want, atol=0.0501)  # above 10, one decimal
        assert settled(page).startswith("Gain and bias give this case back.")
        page.get_by_role("group", name="Unit 3").get_by_role("slider", name="gain").press("ArrowLeft")
        assert page.get_by_role("slider", name="All gains: differ").count() == 1
        page.get_by_role("slider", name="Case times").press("End")
        assert page.locator(".none .over").count() > 0  # three times as loud: over the edge
        assert page.locator(".layer .bar.over").count() == 0


def test_invariance_playground_the_presets_break_the_cells_that_they_name(opened):
    tests = {
        "Negative δ": ("2 hold, 8 flip the sign.", "± flips sign"),
        "Small variance beside ε": ("4 hold, 6 fail.", "changes by "),
        "Frozen statistics": ("6 hold, 4 fail.", "changes by "),
        "Reset": ("all hold.", "✓ invariant"),
    }
    with opened("invariance_playground", has_touch=True) as page:
        for name, (words, verdict) in tests.items():
            press(page, name)
            assert said(page).endswith(f"Of the 10 cells that the paper calls invariant, {words}")
            # batch norm, when the weights are re-scaled
            assert page.locator("tr.batch td").first.text_content().startswith(verdict)
        size = page.get_by_role("slider").first
        size.fill("0.5")
        page.locator("tr.layer td").nth(3).tap()  # each column remembers its size
        assert page.get_by_role("radio", name="Dataset re-scaling").is_checked()
        assert size.input_value() == "2"
        size.fill("-1.25")
        assert page.locator("tr.now td").all_inner_texts() == [
            "δ = 0.5", "γ = 1", "δ = 2", "δ = −1.25", "γ = 1", "δ = 2",
        ]  # fmt: skip


def test_offset_prints_what_lnlib_computes_and_says_it_in_words(opened):
    given_a = given("offset", "W") @ given("offset", "x")
    with opened("offset") as page:
        for name, c, words in (
            ("No offset", 0.0, "No offset yet"),
            ("Large offset", 3.0, "Adding 3.0 to every component turns a by"),
            ("Offset that makes the mean 0", -float(given_a.mean()), "both normalizations give the same."),
        ):
            press(page, name)
            a = given_a + c
            for lane, out in (("none", a), ("layer", layer_norm(a, eps=0.0)), ("rms", rms_norm(a, eps=0.0))):
                np.testing.assert_allclose(numbers(page.locator(f"div.{lane} .bars span")), out, atol=0.00501)
                mean, length = numbers(page.locator(f"tr.{lane} td:nth-child(-n+3)"))
                assert (mean, length) == pytest.approx((float(out.mean()), float(out.norm())), abs=0.0501)
            assert words in settled(page)
        page.get_by_role("checkbox").check()
        assert settled(page).startswith("With centered weights, RMSNorm is layer norm.")
        assert set(page.locator("tr.mean td").all_inner_texts()) == {"0.00"}


def test_recurrent_drift_the_buttons_plot_and_print_what_lnlib_computes(opened):
    weights = drift.recurrent_drift().state
    words = {
        "It fades": ("Plain states fade, layer-normalized states hold.", "no blue line moves."),
        "It explodes": ("Plain states explode, layer-normalized states hold.", "no blue line moves."),
        "High gain": ("Both kinds of states hold.", "explodes, ×1.28 a step. Try a smaller g."),
        "Weak weights": ("Both kinds of states hold.", "fades, ×0.41 a step. Try a larger s/u."),
    }
    with opened("recurrent_drift") as page:
        for name, (start, end) in words.items():
            press(page, name)
            assert settled(page).startswith(start)
            assert settled(page).endswith(end)
            for lane, normalized in (("plain", False), ("layer", True)):
                run = drift.unroll(weights, drift.PRESETS[name], normalized)
                for k, values in enumerate(run):
                    path = page.locator(".plot").nth(k).locator(f"path.{lane}").get_attribute("d")
                    drawn = [float(point.split(" ")[1]) for point in path[1:].split("L")]
                    np.testing.assert_allclose(drawn, 50 - 50 * values.log10() / 6, atol=0.1)
                cells = page.locator(f"tr.{lane} td").all_inner_texts()
                sizes = [float(cells[k].replace("−", "-")) for k in (1, 3)]
                assert sizes == pytest.approx([float(run[1][-1]), float(run[2][1])], rel=0.06, abs=0.006)


def test_the_live_text_follows_a_drag_at_once_and_is_read_out_when_the_reader_pauses(opened):
    """Seen within the task of each event, so that no clock judges; a busy text is not read out."""
    with opened("recurrent_drift") as page:
        settled(page)
        page.get_by_role("status").evaluate("""node => { spoken = 0;
            const read = () => { if (!node.hasAttribute("aria-busy")) spoken++; };
            new MutationObserver(read).observe(node, { attributeFilter: ["aria-busy"] }); }""")
        seen = page.get_by_role("slider").first.evaluate("""slider => [1, 1.2, 1.4].map(value => {
            slider.value = value; slider.dispatchEvent(new Event("input"));
            const status = slider.getRootNode().querySelector("[role=status]");
            return [status.textContent, status.getAttribute("aria-busy")]; })""")
        assert len({text for text, _ in seen}) == 3
        assert [busy for _, busy in seen] == ["true"] * 3
        assert settled(page).split() == seen[-1][0].split()
        assert page.evaluate("spoken") == 1


def test_residual_depth_the_lines_and_the_words_are_what_the_script_computes(opened, chromium):
    with opened("residual_depth") as page:
        press(page, "Draw again")
        page.get_by_role("slider").last.press("ArrowLeft")
        nets = "[3, 4, 5].map((seed) => network(seed, 16))"
        profiles = evaluate("residual_depth", f"measure({nets}, 0.5)", chromium)
        for block, index in (("last", -1), ("first", 0)):
            page.get_by_role("radio", name=block).check()
            for placement in ("pre", "post"):
                want = ([p[index] for p in profiles[placement]], profiles[placement][-1])
                for plot, values in enumerate(want):
                    line = page.locator(".plot").nth(plot).locator(f"path.{placement}:not(.limit)")
                    points = line.get_attribute("d")[1:].split("L")
                    drawn = [10 ** (1 - 3 * float(point.split(" ")[1]) / 100) for point in points]
                    np.testing.assert_allclose(drawn, values, rtol=1e-6)
            shown = re.match(r"Depth 64, (\w+) block: pre-LN ([\d.]+), post-LN ([\d.]+)", settled(page))
            ends = [profiles[placement][-1][index] for placement in ("pre", "post")]
            assert shown[1] == block
            assert [float(shown[2]), float(shown[3])] == pytest.approx(ends, abs=0.0051)
        page.get_by_role("slider").last.press("Home")
        assert page.get_by_role("slider").last.get_attribute("aria-valuetext") == "1/16"
        page.get_by_role("slider").first.press("Home")
        assert "Add blocks to see a law." in settled(page)


def test_strokes_play_once_and_can_be_stopped_and_dragged(opened):
    with opened("strokes") as page:
        page.wait_for_function(
            "document.querySelector('.lnlib-figure').shadowRoot.querySelector('input').value == 6"
        )
        press(page, "Play")
        press(page, "Pause")
        assert int(page.get_by_role("slider").input_value()) < 6
        page.get_by_role("slider").fill("2")
        assert page.get_by_text("2 of 6").is_visible()


def test_writing_a_reader_chooses_the_sentence_and_the_bias(opened):
    with opened("writing") as page:
        page.get_by_role("radio", name="two waves more").check()
        page.get_by_role("slider").fill("0")
        label = page.get_by_role("img").get_attribute("aria-label")
        assert "“two waves more” as the network wrote it, bias 0" in label
        press(page, "Write")
        drawn = "document.querySelector('.lnlib-figure').shadowRoot.querySelector('path').getAttribute('d')"
        page.wait_for_function(f"{drawn}.split('L').length > 170")
