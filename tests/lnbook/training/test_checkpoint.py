"""A run that was interrupted gives the rows of one that was not."""

import torch
from small import JOB, UPDATES, Small, without_clock

from lnbook.training import Machine, RunFolder, torch_threads, train


def test_stopped_again_and_again_a_run_gives_the_same_bits(tmp_path, monkeypatch):
    with torch_threads(1):
        expected = train(Small(Machine(), **JOB))
        for stop in (1, 2, 5, 6, 7, 3, 9, UPDATES + 1):  # in, between and at rows and epochs
            monkeypatch.setenv("FAULT", f"stop {stop}")
            task = Small(Machine(), **JOB)
            try:
                with RunFolder(tmp_path, JOB, {}) as folder:
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
