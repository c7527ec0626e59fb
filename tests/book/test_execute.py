"""A build runs every page it can, says how far it is, and leaves a book to read when one of them fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import execute
import nbformat
import pytest
from execute import executed, executed_all, kept_folder, made_ready

from lnbook.data import DataError

ROOT = Path(__file__).resolve().parents[2]
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def write(path: Path, *sources: str, **facts: object) -> Path:
    """A notebook with a title, the parameters cell of every page, and these code cells."""
    cells = [
        nbformat.v4.new_markdown_cell(f"# Page {path.stem}"),
        nbformat.v4.new_code_cell('scale = "smoke"  # size\nseed = 0', metadata={"tags": ["parameters"]}),
        *map(nbformat.v4.new_code_cell, sources),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL | {"lnlib": facts}), path)
    return path


MEASURES = """import os, pathlib
rows = pathlib.Path(os.environ["LNLIB_RESULTS"], "smoke")
rows.mkdir()
rows.joinpath("{page}.csv").write_text("claim,value\\nx,{value}\\n")"""


EDITS = """page = pathlib.Path("{page}")
page.write_text(page.read_text().replace("# Page", "# Another page"))"""


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page that reads data, of which there are none, with an empty cache."""
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "0")
    return write(tmp_path / "page.ipynb", "1", data=["mnist", "digits", "sick"])


def test_a_folder_of_data_that_is_none_is_said_before_any_page_runs(reads, monkeypatch) -> None:
    monkeypatch.setenv("LNLIB_DATA", str(reads.parent / "nowhere"))
    with pytest.raises(DataError, match="nowhere"):
        made_ready([reads], "book", pytest.fail)


def test_without_data_a_build_goes_on_says_so_and_keeps_its_pages_off_the_network(reads, monkeypatch) -> None:
    fetch = Mock(side_effect=DataError("no route"))
    monkeypatch.setattr(execute, "fetch", fetch)
    said: list[str] = []
    made_ready([reads], "smoke", said.append)
    assert not fetch.called
    made_ready([reads], "book", said.append)
    fetch.assert_called_once_with("mnist")  # the licence of SICK is for a user to accept
    assert "data: mnist: no route" in said
    assert os.environ["LNLIB_OFFLINE"] == "1"


def test_a_page_that_fails_is_named_with_its_cell_and_the_others_run(tmp_path: Path) -> None:
    good = write(tmp_path / "good.ipynb", MEASURES.format(page="good", value=1))
    bad = write(tmp_path / "bad.ipynb", "before = 'this ran'\nbefore", "# divide\n1 / 0", "after = 1")
    dead = write(tmp_path / "dead.ipynb", "import os\nos._exit(3)")
    loud = write(tmp_path / "loud.ipynb", "import warnings; warnings.warn('look here')")
    rows, said = tmp_path / "results" / "smoke", []
    rows.mkdir(parents=True)
    (rows / "bad.csv").write_text("claim,value\nx,9\n")  # of an earlier build

    done = executed_all([bad, dead, loud, good], "smoke", said.append, tmp_path)

    assert sorted(page for page, run in done.items() if run.failure) == ["bad", "dead", "loud"], done
    assert "DeadKernelError" in done["dead"].failure
    assert "wrote to stderr" in done["loud"].failure
    assert "look here" in done["loud"].failure
    assert "the cell '# divide': ZeroDivisionError" in done["bad"].failure
    cells = nbformat.read(done["bad"].notebook, 4).cells
    assert cells[2].outputs[0].data["text/plain"] == "'this ran'"
    assert cells[3].outputs[0].ename == "ZeroDivisionError"
    assert not cells[4].outputs
    assert [f.name for f in rows.iterdir()] == ["good.csv"], "this build's rows and no others"
    assert len([line for line in said if " of 4 pages done" in line]) == 4


def test_a_page_that_has_not_changed_is_kept_and_one_that_has_runs_anew(tmp_path: Path) -> None:
    page = write(tmp_path / "good.ipynb", MEASURES.format(page="good", value=1))
    killed = kept_folder(page, "smoke", tmp_path).with_name("running")  # what a killed build leaves
    killed.mkdir(parents=True)
    (killed / page.name).write_text("as far as papermill came")
    assert executed(page, "smoke", tmp_path).fresh
    assert not executed(page, "smoke", tmp_path).fresh
    write(page, MEASURES.format(page="good", value=2), EDITS.format(page=page))
    run = executed(page, "smoke", tmp_path)
    assert (run.results / "smoke" / "good.csv").read_text().endswith("2\n")
    assert "changed while it ran" in run.failure
    assert not kept_folder(page, "smoke", tmp_path).exists()


def test_the_executed_copy_shows_the_scale_that_ran(tmp_path: Path) -> None:
    run = executed(write(tmp_path / "toy.ipynb", "scale"), "book", tmp_path)
    cells = nbformat.read(run.notebook, 4).cells
    assert [c.source for c in cells[1:]] == ['scale = "book"  # size\nseed = 0', "scale"]
    assert cells[2].outputs[0].data["text/plain"] == "'book'"


@pytest.mark.slow
@pytest.mark.pages
def test_a_book_with_a_broken_page_can_be_opened_and_searched_and_its_build_fails(tmp_path: Path) -> None:
    for name in ("_config.yml", "book/_ext", "book/_static", "book/claims.toml", "book/references.bib"):
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\n"
        "chapters: [{file: book/whole}, {file: book/broken}, {file: book/text}]\n"
    )
    (tmp_path / "book" / "intro.md").write_text("# A small book\n\n```{executions}\n```\n")
    (tmp_path / "book" / "text.md").write_text("# Text\n\n```{math}\n:label: eq-1\na\n```\n")
    write(tmp_path / "book" / "whole.ipynb", "print('all of it')", paper="page 1")
    write(tmp_path / "book" / "broken.ipynb", "print('so far')", "raise KeyError('<b>&')", paper="page 2")
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "-W", "-n", "--keep-going"]

    def build() -> subprocess.CompletedProcess[str]:
        smoke = os.environ | {"LNLIB_SCALE": "smoke"}
        return subprocess.run(command, cwd=tmp_path, env=smoke, capture_output=True, text=True, check=False)

    built = build()
    assert built.returncode != 0
    assert "the page broken failed" in built.stderr
    assert "broken.ipynb at smoke scale, the cell" in built.stderr
    pages = tmp_path / "_build" / "html" / "book"
    broken, whole, intro = ((pages / f"{name}.html").read_text() for name in ("broken", "whole", "intro"))
    for said in ("This page failed in this build", "so far", "&lt;b&gt;&amp;"):
        assert said in broken
        assert said not in whole
    assert "all of it" in whole
    assert "Page broken (failed)" in whole, "the contents beside every page say so"
    assert "failed" in intro
    write(tmp_path / "book" / "whole.ipynb", "print('changed')", paper="page 1")
    build()
    assert "changed" in (pages / "whole.html").read_text()
    found = (tmp_path / "_build" / "html" / "searchindex.js").read_text()
    assert '"equation (1)"' in found, "the search knows the entries of pages that are not written again"
