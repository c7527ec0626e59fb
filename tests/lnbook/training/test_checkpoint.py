"""A run's folder: whole files or none, damage named and put aside, one process at a time."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small import JOB, Small, without_clock

from lnbook.training import (
    CheckpointError,
    DamagedCheckpoint,
    Machine,
    OutputError,
    RunBusy,
    RunFolder,
    train,
)


def filled(path: Path, updates: tuple[int, ...] = (7, 14)) -> None:
    with RunFolder(path, JOB) as folder:
        for update in updates:
            folder.save(update, {"update": update, "weights": torch.arange(100.0)})


def middle_flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[:-100],
    "truncated in the first line": lambda content: content[:10],
    "a bit flipped": middle_flipped,
    "a bit of the hash flipped": lambda content: content[:30] + bytes([content[30] ^ 1]) + content[31:],
    "empty": lambda content: b"",
    "foreign": lambda content: b"PK\x03\x04" + content,
    "something after it": lambda content: content + b"\0",
}


def test_a_checkpoint_comes_back_as_it_was_and_only_two_are_kept(tmp_path: Path) -> None:
    filled(tmp_path, (7, 14, 21))
    with RunFolder(tmp_path, JOB) as folder:
        state = folder.load()
        assert state is not None
        assert state["update"] == 21
        assert torch.equal(state["weights"], torch.arange(100.0))
        assert [int(file.stem) for file in folder.checkpoints()] == [21, 14]


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_checkpoint_is_named_put_aside_and_the_one_before_it_used(
    tmp_path: Path, kind: str
) -> None:
    filled(tmp_path)
    newest = tmp_path / "000000014.checkpoint"
    damaged = DAMAGE[kind](newest.read_bytes())
    newest.write_bytes(damaged)
    assert RunFolder.peek(tmp_path) is not None
    assert newest.is_file()  # to look at a run moves nothing
    with RunFolder(tmp_path, JOB) as folder:
        with pytest.warns(DamagedCheckpoint, match=f"{newest} is damaged: .*is {newest.name}.damaged now"):
            state = folder.load()
        assert state is not None
        assert state["update"] == 7
        assert (tmp_path / f"{newest.name}.damaged").read_bytes() == damaged
        assert folder.load() is not None  # and nothing more is said


def test_a_whole_checkpoint_of_another_run_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    filled(tmp_path)
    with RunFolder(tmp_path / "other", {**JOB, "seed": 5}) as other:
        other.save(21, {"update": 21})
    (tmp_path / "other" / "000000021.checkpoint").rename(tmp_path / "000000021.checkpoint")
    with RunFolder(tmp_path, JOB) as folder:
        with pytest.warns(DamagedCheckpoint, match="holds another run: seed = 5 there, seed = 0 here"):
            state = folder.load()
        assert state is not None
        assert state["update"] == 14


def test_if_all_are_damaged_the_run_is_not_begun_anew_unasked(tmp_path: Path) -> None:
    filled(tmp_path)
    for file in tmp_path.glob("*.checkpoint"):
        file.write_bytes(b"")
    with RunFolder(tmp_path, JOB) as folder:
        with (
            pytest.warns(DamagedCheckpoint, match="is damaged"),
            pytest.raises(CheckpointError, match=r"No checkpoint in .* begin anew with --restart"),
        ):
            folder.load()
        with pytest.raises(CheckpointError, match="No checkpoint"):
            folder.load()
    RunFolder.clear(tmp_path)
    with RunFolder(tmp_path, JOB) as folder:
        assert folder.load() is None


def test_a_folder_of_another_run_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    filled(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match=r"another run: dropout = 0\.3 there, dropout = 0\.5"):
        RunFolder(tmp_path, {**JOB, "dropout": 0.5})
    filled_again = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert filled_again == before | {"lock": filled_again["lock"]}


@pytest.mark.parametrize("content", [b"", b'{"norm": "ba', b"\xff\xfe"])
def test_a_damaged_job_file_is_put_aside_and_the_checkpoints_say_which_run_it_is(
    tmp_path: Path, content: bytes
) -> None:
    filled(tmp_path)
    (tmp_path / "job.json").write_bytes(content)
    with pytest.warns(DamagedCheckpoint, match=r"job\.json is damaged"), RunFolder(tmp_path, JOB) as folder:
        state = folder.load()
    assert state is not None
    assert state["update"] == 14
    assert json.loads((tmp_path / "job.json").read_bytes()) == JOB


def outcome(rows: int = 3) -> dict[str, Any]:
    return {"rows": [{"update": k, "nll": 1 / 3} for k in range(rows)], "facts": {"seconds": 1}, "failed": ""}


def test_an_outcome_comes_back_and_one_checkpoint_stays(tmp_path: Path) -> None:
    filled(tmp_path)
    assert RunFolder.outcome_in(tmp_path) is None
    with RunFolder(tmp_path, JOB) as folder:
        folder.write_outcome(outcome())
        assert folder.outcome() == RunFolder.outcome_in(tmp_path) == outcome()
        assert [int(file.stem) for file in folder.checkpoints()] == [14]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:-20],
        lambda text: text.replace("0.333", "0.433"),
        lambda text: "[]",
        lambda text: '{"rows": []}',
    ],
)
def test_a_damaged_outcome_is_put_aside_and_the_run_goes_on_from_its_last_checkpoint(
    tmp_path: Path, damage: Callable[[str], str]
) -> None:
    filled(tmp_path)
    with RunFolder(tmp_path, JOB) as folder:
        folder.write_outcome(outcome())
        file = tmp_path / "outcome.json"
        file.write_text(damage(file.read_text()))
        with pytest.raises(CheckpointError, match=r"outcome\.json is damaged"):
            RunFolder.outcome_in(tmp_path)
        with pytest.warns(DamagedCheckpoint, match=r"outcome\.json is damaged"):
            assert folder.outcome() is None
        state = folder.load()
        assert state is not None
        assert state["update"] == 14


def test_two_processes_never_share_a_folder_and_a_killed_one_gives_it_back(tmp_path: Path) -> None:
    with RunFolder(tmp_path, JOB):
        with pytest.raises(RunBusy, match=f"in use by process {os.getpid()} of"):
            RunFolder(tmp_path, JOB)
        with pytest.raises(RunBusy):
            RunFolder.clear(tmp_path)
        assert (tmp_path / "job.json").is_file()
    RunFolder(tmp_path, JOB).close()


def test_a_lock_file_that_cannot_be_opened_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(OutputError, match=r"lock cannot be written: .*give another --out"):
        RunFolder(tmp_path, JOB)


def test_what_a_killed_process_had_half_written_is_removed_by_the_next(tmp_path: Path) -> None:
    filled(tmp_path)
    half = tmp_path / "000000021.checkpoint.0123.new"
    half.write_bytes(b"half of it")
    with pytest.raises(CheckpointError, match="another run"):
        RunFolder(tmp_path, {**JOB, "dropout": 0.5})
    assert half.exists()
    RunFolder(tmp_path, JOB).close()
    assert not half.exists()


def refuse(error: int) -> Callable[[int], None]:
    def fsync(_: int) -> None:
        raise OSError(error, os.strerror(error))

    return fsync


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_full_or_read_only_disk_is_a_clear_error_that_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    filled(tmp_path)
    with RunFolder(tmp_path, JOB) as folder:
        before = {file: file.read_bytes() for file in tmp_path.iterdir()}
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", refuse(error))
            with pytest.raises(OutputError, match=f"21.checkpoint cannot be written: {os.strerror(error)}"):
                folder.save(21, {"update": 21})
        assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
        folder.save(21, {"update": 21})
        assert folder.load() == {"update": 21}


def test_where_nothing_can_be_written_is_found_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=r"cannot be written: .*give another --out"):
        RunFolder(tmp_path / "file" / "run", JOB)
    monkeypatch.setattr(os, "fsync", refuse(errno.ENOSPC))
    with pytest.raises(OutputError, match=r"No space left on device.*Make room \(\d+ MB are free in"):
        RunFolder(tmp_path / "run", JOB)


def test_a_checkpoint_that_does_not_fit_the_model_says_so(tmp_path: Path) -> None:
    filled(tmp_path)
    with (
        RunFolder(tmp_path, JOB) as folder,
        pytest.raises(CheckpointError, match="update 14 does not fit this model, optimizer or data"),
    ):
        train(Small(Machine(), **JOB), folder=folder)


def test_batches_that_cannot_say_where_they_stand_cannot_have_checkpoints(tmp_path: Path) -> None:
    task = Small(Machine(), **JOB)
    task.batches = iter([])
    with RunFolder(tmp_path, JOB) as folder, pytest.raises(ValueError, match="batches with state_dict"):
        train(task, folder=folder)


def test_damage_between_two_sessions_changes_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = without_clock(train(Small(Machine(), **JOB)).rows)
    monkeypatch.setenv("FAULT", "raise 30")
    with RunFolder(tmp_path, JOB) as folder, pytest.raises(RuntimeError, match="asked for"):
        train(Small(Machine(), **JOB), folder=folder, every_seconds=0)
    monkeypatch.delenv("FAULT")
    newest = max(tmp_path.glob("*.checkpoint"))
    assert newest.name == "000000029.checkpoint"
    newest.write_bytes(newest.read_bytes()[:-1])
    (tmp_path / "rows.jsonl").write_bytes(b"nonsense")
    (tmp_path / "sessions.json").write_bytes(b"nonsense")
    with RunFolder(tmp_path, JOB) as folder, pytest.warns(DamagedCheckpoint, match="29.checkpoint"):
        run = train(Small(Machine(), **JOB), folder=folder)
    assert without_clock(run.rows) == expected
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == run.rows


def test_a_process_that_is_killed_as_it_looks_whether_it_can_write_leaves_nothing(tmp_path: Path) -> None:
    killed = (
        "import os, pathlib, signal, sys\n"
        "from lnbook.training.files import make_folder\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "make_folder(pathlib.Path(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", killed, tmp_path / "run"], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list((tmp_path / "run").iterdir()) == []
