"""Skip-thoughts judged by MPQA where a user has it, at the paper's scale alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lnbook.data import sentences
from lnbook.pages.sec6_3_skip_thoughts import reading, sources
from lnbook.pages.sec6_3_skip_thoughts.experiment import EXPERIMENT
from lnbook.training import Machine, train


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder with MPQA, and no other data."""
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    (tmp_path / "mpqa").mkdir()
    for name, word in (("mpqa.pos", "class"), ("mpqa.neg", "module")):
        (tmp_path / "mpqa" / name).write_text("".join(f"the {word} is {k}\n" for k in range(30)))
    reading.judges.cache_clear()
    reading.tasks.cache_clear()
    yield tmp_path
    reading.judges.cache_clear()
    reading.tasks.cache_clear()


def test_mpqa_takes_the_place_of_pros_and_cons() -> None:
    plain, with_mpqa = (reading.judges(real=True, mpqa=wanted)[0] for wanted in (False, True))
    assert list(plain) == list(sentences.CLASSIFICATIONS) == ["mr", "cr", "subj", "pros_cons"]
    assert list(with_mpqa) == ["mr", "cr", "subj", "mpqa"]
    assert with_mpqa["mpqa"].labels.tolist() == [1] * 30 + [0] * 30


def test_the_papers_scale_is_judged_by_mpqa_where_it_is_and_no_other_scale_is(root: Path) -> None:
    first = {scale: EXPERIMENT.jobs(scale, 0)[0] for scale in ("study", "paper")}
    assert EXPERIMENT.data(first["paper"], "paper")[1:] == ["sentence_classification", "sick", "mpqa"]
    assert "mpqa" not in EXPERIMENT.data(first["study"], "study")
    (root / "mpqa").rename(root / "elsewhere")
    assert EXPERIMENT.data(first["paper"], "paper")[1:] == ["sentence_classification", "sick"]


def test_a_run_at_the_papers_scale_has_mpqas_accuracy_of_ten_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sources.BOOKS, "paper", "python_topics")
    small = next(j for j in EXPERIMENT.jobs("smoke", 0) if j["norm"] == "layer")
    last = train(EXPERIMENT.task({**small, "updates": 2, "rows": 1}, "paper", Machine())).rows[-1]
    assert last["mpqa_cases"] == 60
    assert last["bag_mpqa_accuracy"] > 0.9  # a word tells the class
    assert not any("pros_cons" in name for name in last)
