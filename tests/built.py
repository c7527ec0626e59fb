"""The built pages that the page tests read: those named by LNLIB_HTML, else a build at smoke scale."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import yaml
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[1]


@cache
def html() -> Path:
    """The folder of the built HTML. Building reuses the notebooks that were executed at smoke scale."""
    if named := os.environ.get("LNLIB_HTML"):
        folder = Path(named).resolve()
        assert (folder / "index.html").is_file(), f"LNLIB_HTML={named} holds no index.html: `make book`"
        return folder
    out = ROOT / "_build" / "smoke"
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "--path-output", str(out)]
    out.mkdir(parents=True, exist_ok=True)
    run, built = os.environ.get("PYTEST_XDIST_TESTRUNUID", ""), out / "built"
    with FileLock(out / "build.lock"):  # of several test processes the first builds, the others find it built
        if run and built.is_file() and built.read_text("utf-8") == run:
            return out / "_build" / "html"  # a second build would replace files that others are reading
        done = subprocess.run(
            [*command, "-W", "-n", "--keep-going"],
            cwd=ROOT,
            env=os.environ | {"LNLIB_SCALE": "smoke"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"the book does not build at smoke scale:\n{done.stdout}\n{done.stderr}"
        built.write_text(run, "utf-8")
    return out / "_build" / "html"


def pages() -> list[Path]:
    """The book's own pages (not the search page that Sphinx adds, nor the old addresses that lead on)."""
    return sorted(p for p in (html() / "book").glob("*.html") if p.stem not in moved())


def moved() -> dict[str, str]:
    """The pages that were folded into others, and the addresses that theirs lead to."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    return {Path(old).name: new for old, new in config["sphinx"]["config"]["redirects"].items()}
