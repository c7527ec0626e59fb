"""A page depends on the files of both packages that it reaches, so that it is never stale."""

import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import digest  # noqa: E402

PAGES = ROOT / "book" / "lnbook" / "pages"
ROOMS = sorted(f.parent for f in PAGES.glob("*/__init__.py"))


def reached(page: str) -> set[Path]:
    return digest.files_reached(nbformat.read(ROOT / "book" / f"{page}.ipynb", as_version=4))


@pytest.mark.parametrize(
    ("file", "depends"),
    [
        ("book/lnbook/pages/sec6_4_draw/model.py", True),
        ("book/lnbook/pages/sec6_4_draw/__init__.py", True),
        ("book/lnbook/shared/studies.py", True),
        ("book/lnbook/training/loop.py", True),
        ("book/lnbook/data/lookup.py", True),  # by a relative import
        ("lnlib/rnn/cells.py", True),
        ("book/lnbook/pages/sec6_5_handwriting/model.py", False),
        ("book/lnbook/cli/run.py", False),
    ],
)
def test_a_changed_file_runs_the_page_anew_exactly_if_the_page_reaches_it(monkeypatch, file, depends):
    notebook = ROOT / "book" / "sec6_4_draw.ipynb"
    before = digest.notebook_key(notebook, "smoke")
    true, changed = digest._sha256, ROOT / file
    assert changed.is_file()
    monkeypatch.setattr(digest, "_sha256", lambda f: "changed" if f == changed else true(f))
    assert (digest.notebook_key(notebook, "smoke") != before) == depends


@pytest.mark.parametrize("room", ROOMS, ids=lambda f: f.name)
def test_a_room_holds_only_what_its_page_reaches(room):
    unused = set(room.rglob("*.py")) - reached(room.name)
    assert not {f.relative_to(ROOT).as_posix() for f in unused}
