"""The Chromium of this machine, for printing the book and for testing its pages."""

import os
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

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


def main() -> None:
    """End with how to install one where there is none, also not one that Playwright has downloaded."""
    if executable():
        return
    with sync_playwright() as playwright:
        if not Path(playwright.chromium.executable_path).is_file():
            raise SystemExit(
                "The PDF needs Chromium, and there is none. Install it (Debian: apt install chromium; "
                "macOS: brew install --cask chromium), or name one: LNLIB_CHROMIUM=/path/to/chrome make ..."
            )


if __name__ == "__main__":
    main()
