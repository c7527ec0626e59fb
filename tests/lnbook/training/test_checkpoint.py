"""A run that was interrupted gives the rows of one that was not, and goes on as what it was or not at all."""

from pathlib import Path

import pytest
import torch
from small import JOB, UPDATES, Small, without_clock

from lnbook.training import CheckpointError, Machine, RunFolder, torch_threads, train

BEGUN = {**JOB, "commit": "a1b2"}


def test_stopped_again_and_again_a_run_gives_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with torch_threads(1):
        expected = train(Small(Machine(), **JOB))
        for stop in (1, 2, 5, 6, 7, 3, 9, UPDATES + 1):  # in, between and at rows and epochs
            monkeypatch.setenv("FAULT", f"stop {stop}")
            task = Small(Machine(), **JOB)
            try:
                with RunFolder(tmp_path, JOB) as folder:
                    found = train(task, folder=folder, every_seconds=0)
            except KeyboardInterrupt:
                continue
    assert without_clock(found.rows) == without_clock(expected.rows)
    assert found.selected is not None
    assert expected.selected is not None
    assert without_clock([found.selected]) == without_clock([expected.selected])
    weights = torch.load(tmp_path / "selected.pt", weights_only=True)
    assert {"1.running_mean", "1.num_batches_tracked"} <= set(weights)
    assert expected.best is not None
    torch.testing.assert_close(weights, expected.best["weights"], rtol=0, atol=0)
    assert task.calls == UPDATES - 26, "all that was done before the stops was kept"


def test_a_checkpoint_of_another_run_is_refused_and_that_of_another_commit_unless_accepted(
    tmp_path: Path,
) -> None:
    with RunFolder(tmp_path, BEGUN) as folder:
        folder.save({"update": 7})
    said = r"another run: dropout = 0\.3 there, dropout = 0\.5 here; .*--restart"
    with pytest.raises(CheckpointError, match=said):
        RunFolder(tmp_path, {**BEGUN, "dropout": 0.5}).load()
    later = {**BEGUN, "commit": "c3d4"}
    with pytest.raises(CheckpointError, match=r"'a1b2' there, commit = 'c3d4' here; .*--accept changed-code"):
        RunFolder(tmp_path, later).load()
    with RunFolder(tmp_path, later, changed_code=True) as folder:
        assert folder.load() == {"update": 7}
        folder.write_outcome({"rows": [], "facts": {}, "failed": ""})
    assert RunFolder(tmp_path, BEGUN).outcome() is not None  # what has finished is not gone on with
    with pytest.raises(CheckpointError, match="seed = 0"):
        RunFolder(tmp_path, {**BEGUN, "seed": 1}).outcome()


def test_two_processes_never_share_a_folder(tmp_path: Path) -> None:
    said = "in use by another process"
    with RunFolder(tmp_path, JOB), pytest.raises(CheckpointError, match=said), RunFolder(tmp_path, JOB):
        pass


def test_a_checkpoint_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"PK")
    with pytest.raises(CheckpointError, match=r"checkpoint\.pt cannot be read; begin anew with --restart"):
        RunFolder(tmp_path, JOB).load()
