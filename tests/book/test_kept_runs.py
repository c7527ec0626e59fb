"""A run is kept only if nothing it was made from changed meanwhile."""

import os
import sys
from pathlib import Path

import pytest
from test_preflight import bare  # noqa: F401  no data, no cache, no downloads
from test_schedule import MEASURES, places, write  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import execute  # noqa: E402
from execute import NotebookFailed, executed, failed_copy, kept_folder  # noqa: E402
from schedule import executed_all  # noqa: E402

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
