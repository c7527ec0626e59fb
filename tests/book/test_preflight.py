"""What is known to be wrong is said before any page runs; a path means what it meant where it was typed."""

import os
import subprocess
from pathlib import Path

import preflight
import pytest
from sphinx.errors import ExtensionError
from test_schedule import write

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data, an empty cache, downloads off."""
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return write(tmp_path / "page.ipynb", "1", data=["mnist", "digits", "sick"])


def test_all_that_is_wrong_is_said_together_and_nothing_runs(page, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(preflight.disk_problems, "__defaults__", (tmp_path / "file" / "_build",))
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ExtensionError) as caught:
        preflight.made_ready([page], "book", pytest.fail)
    message = str(caught.value)
    assert "cannot be written to" in message
    assert str(tmp_path / "nowhere") in message


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
