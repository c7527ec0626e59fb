"""A kept run is used only as its run left it, and kept only if nothing it was made from changed meanwhile."""

import os
import sys
from pathlib import Path

import pytest
from test_preflight import bare  # noqa: F401  no data, no cache, no downloads
from test_schedule import MEASURES, places, write  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import execute  # noqa: E402
import seal  # noqa: E402
from execute import NotebookFailed, executed, failed_copy, kept_folder  # noqa: E402
from schedule import executed_all  # noqa: E402

NAMES = ("page.ipynb", "results/smoke/page.csv", seal.SEAL)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["cut off", "changed", "lost", "added"])
def test_a_folder_is_whole_only_as_it_was_sealed(tmp_path: Path, name: str, how: str) -> None:
    for kind in NAMES[:2]:
        (tmp_path / kind).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / kind).write_text(f"{kind} 1\n")
    seal.seal(tmp_path)
    assert seal.damage(tmp_path) == ""
    file = tmp_path / name
    whole = file.read_bytes()
    other = file.with_name("other.csv") if how == "added" else file
    changed = {"cut off": whole[:-9], "changed": whole.replace(b"1", b"2"), "added": b"x"}
    file.unlink() if how == "lost" else other.write_bytes(changed[how])
    assert (other.name if file.name != seal.SEAL else "") in seal.damage(tmp_path)
    assert seal.damage(tmp_path)


def test_a_kept_run_that_is_not_as_it_was_left_is_not_used(places: Path) -> None:  # noqa: F811
    page = write(places / "page.ipynb", MEASURES.format(page="page", value=1))
    build = {"scale": "smoke", "rows": places / "rows"}
    rows = executed(page, "smoke").results / "smoke" / "page.csv"
    rows.write_text(rows.read_text().replace("1", "2"))
    said: list[str] = []
    (done,) = executed_all([page], **build, say=said.append).values()
    assert done.fresh
    assert not done.failure
    words = "(results/smoke/page.csv was changed); the page runs anew"
    assert said[0] == f"page: the kept run is not as it was left {words}"
    assert (places / "rows" / "smoke" / "page.csv").read_text().endswith("1\n")
    assert not executed(page, "smoke", say=pytest.fail).fresh


def test_a_run_alone_says_so_too(places: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    page = write(places / "page.ipynb", "1")
    run = executed(page, "smoke")
    run.notebook.write_bytes(run.notebook.read_bytes()[:99])
    monkeypatch.setattr(sys, "argv", ["execute.py", str(page)])
    execute.main()
    said = capsys.readouterr()
    assert "page: the kept run is not as it was left (page.ipynb was changed)" in said.err
    assert Path(said.out.strip()).resolve() == run.notebook


EDITS = """from pathlib import Path
page = Path("{page}")
page.write_text(page.read_text().replace("# Page", "# Another page"))"""


def test_a_page_whose_sources_change_while_it_runs_is_not_kept(places: Path) -> None:  # noqa: F811
    page = write(places / "page.ipynb", EDITS.format(page=places / "page.ipynb"))
    with pytest.raises(NotebookFailed, match="its cells changed while it ran, so that nobody knows"):
        executed(page, "smoke")
    assert not kept_folder(page, "smoke").exists()
    assert failed_copy(page, "smoke").is_file(), "what ran is not lost"


@pytest.mark.slow
def test_a_build_runs_no_page_in_its_own_process(places: Path) -> None:  # noqa: F811
    """Two threads that each set LNLIB_RESULTS would swap their pages' rows."""
    page = write(places / "page.ipynb", "import os\nos.getppid()", EDITS.format(page=places / "page.ipynb"))
    (done,) = executed_all([page], "smoke", rows=places / "rows", say=lambda _: None).values()
    assert "while it ran" in done.failure
    assert not list((places / "CACHE").rglob("*.ipynb")), "nor is it run a second time"
    assert "LNLIB_RESULTS" not in os.environ


def test_data_are_fetched_before_the_page_and_not_by_it(places: Path, monkeypatch, capsys) -> None:  # noqa: F811
    monkeypatch.setenv("LNLIB_OFFLINE", "0")
    asked: list[list[str]] = []
    monkeypatch.setattr("preflight.fetch", lambda names, say: asked.append(names) or {names[0]: "no route"})
    page = write(places / "page.ipynb", "import os\nos.environ['LNLIB_OFFLINE']", data=["mnist", "digits"])
    monkeypatch.setattr(sys, "argv", ["execute.py", "--scale", "book", str(page)])
    execute.main()
    assert asked == [["mnist"]]
    said = capsys.readouterr()
    assert "data: without mnist" in said.err
    assert "'1'" in Path(said.out.strip()).read_text()
