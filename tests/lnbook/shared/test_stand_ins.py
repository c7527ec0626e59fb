"""Where no data set is at hand, every experiment trains on what stands in for it, and warns of nothing."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from lnbook.cli.experiments import EXPERIMENTS, find
from lnbook.data import DATA_SETS, loaded, readings, strokes
from lnbook.pages.sec6_1_order_embeddings import experiment as order_embedding
from lnbook.pages.sec6_3_skip_thoughts import corpus, sentence_tasks
from lnbook.training import Machine

FEW = {"handwriting": {"lines": 200, "judged": 20}}  # thousands of lines take a minute to compose


def forget() -> None:
    """Drop what other tests have loaded, from other places."""
    for kept in (readings.load_readings, strokes.load_lines, corpus.corpus, sentence_tasks.tasks):
        kept.cache_clear()
    order_embedding.captions_of.cache_clear()


@pytest.fixture
def nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    forget()
    yield
    forget()


@pytest.mark.parametrize("name", EXPERIMENTS.values())
def test_without_data_a_run_can_begin_and_nothing_is_written_to_stderr(
    name: str, nothing_there: None, capfd: pytest.CaptureFixture[str]
) -> None:
    experiment = find(name)
    job = experiment.jobs("study", 0)[-1] | FEW.get(name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = experiment.task(job, "study", Machine())
    assert capfd.readouterr().err == ""
    assert len(next(task.batches)[0]) >= 1
    assert any(facts["source"] == "embedded" for facts in loaded())
    named = set(experiment.data(job, "study"))
    instead = {DATA_SETS[name].stand_in for name in named & DATA_SETS.keys()}  # some runs ask for it by name
    assert {facts["requested"] for facts in loaded()} <= named | instead
