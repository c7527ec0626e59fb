"""What is known to be wrong is said before any page runs; a path means what it meant where it was typed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError
from test_schedule import write

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import preflight  # noqa: E402

from lnbook import data  # noqa: E402


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data, an empty cache, downloads off."""
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return write(tmp_path / "page.ipynb", "1", data=["mnist", "digits", "sick"], loopback=True)


def test_all_that_is_wrong_is_said_together_and_nothing_runs(page, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(preflight.disk_problems, "__defaults__", (tmp_path / "file" / "_build",))
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ExtensionError) as caught:
        preflight.made_ready([page], "book", pytest.fail)
    message = str(caught.value)
    assert "cannot be written to" in message
    assert str(tmp_path / "nowhere") in message


def test_a_file_of_another_size_than_published_stops_the_build_and_stays_where_it_is(
    page, tmp_path, monkeypatch
) -> None:
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    names = [file.name for file in data.data_set("mnist").files]
    for name in names:
        (folder / name).write_bytes(b"half")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "data"))
    with pytest.raises(ExtensionError, match=names[0]):
        preflight.made_ready([page], "book", lambda _: None)
    assert (folder / names[0]).read_bytes() == b"half"


def test_without_data_a_build_goes_on_says_so_and_keeps_its_pages_off_the_network(page, monkeypatch) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", "0")
    asked: list[list[str]] = []

    def fetch(names: list[str], say: object) -> dict[str, str]:
        asked.append(names)
        return dict.fromkeys(names, "no route to host")

    monkeypatch.setattr(preflight, "fetch", fetch)
    said: list[str] = []
    preflight.made_ready([page], "book", said.append)
    assert asked == [["mnist"]], "the licence of SICK is for a user to accept"
    assert said[-1].startswith("data: without mnist; the pages")
    assert os.environ["LNLIB_OFFLINE"] == "1"


def test_at_smoke_scale_nothing_is_fetched(page, monkeypatch) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", "0")
    monkeypatch.setattr(preflight, "fetch", pytest.fail)
    preflight.made_ready([page], "smoke", lambda _: None)
    assert os.environ["LNLIB_OFFLINE"] == "1"


def test_a_machine_without_a_loopback_is_told_which_pages_want_it(page, monkeypatch) -> None:
    monkeypatch.setattr(preflight, "loopback_answers", lambda: False)
    said: list[str] = []
    preflight.made_ready([page], "smoke", said.append)
    assert any("page" in line and "ip link set lo up" in line for line in said)


def make(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """GNU make in a copy of the Makefile, where a book "builds" by saying where it looks."""
    (folder / "book").mkdir(parents=True)
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "$(BIN)/jupyter-book build ." in text
    text = text.replace("$(BIN)/jupyter-book build .", "echo data: $$LNLIB_DATA; true")
    (folder / "Makefile").write_text(text)
    for name in ("pyproject.toml", "book/pyproject.toml", "constraints.txt", ".venv/.ready"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LNLIB", "MAKE", "SCALE"))}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("form", ["environment", "argument"])
def test_make_looks_for_data_where_a_relative_path_was_typed(tmp_path: Path, form: str) -> None:
    (tmp_path / "real data").mkdir()
    typed = "../real data"
    if form == "environment":
        done = make(tmp_path / "clone", "book", LNLIB_DATA=typed)
    else:
        done = make(tmp_path / "clone", "book", f"LNLIB_DATA={typed}")
    assert done.returncode == 0, done.stderr
    said = next(line for line in done.stdout.splitlines() if line.startswith("data: "))
    assert Path(said.removeprefix("data: ")).resolve() == tmp_path / "real data"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("LNLIB_DATA=../nowhere", "nowhere"),
        ("SCALE=bok", "smoke or book"),
    ],
)
def test_make_refuses_what_cannot_be_before_it_installs_anything(
    tmp_path: Path, wrong: str, message: str
) -> None:
    done = make(tmp_path / "clone", "book", wrong)
    assert done.returncode != 0
    assert message in done.stderr
    assert "==" not in done.stdout, "nothing was begun"
