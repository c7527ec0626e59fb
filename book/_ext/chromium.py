"""The Chromium of this machine, for printing the book and for testing its pages."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def executable() -> str | None:
    """Where it is: what `LNLIB_CHROMIUM` names, else the first on the path, else None."""
    return os.environ.get("LNLIB_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
