"""The record that the pages show: the ledger's report, computed once for all pages of a build."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from digest import BOOK
from lnbook.ledger.report import Report, report


def files() -> Iterator[Path]:
    """What the report is computed from; a page that shows it is read again when one of these changes."""
    yield BOOK / "claims.toml"
    yield from sorted((BOOK / "results").glob("*/*.*"))


def record() -> Report:
    """The checkout's report, computed again only if one of its files has changed."""
    return _report(tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files()))


@lru_cache(maxsize=1)
def _report(_: tuple[tuple[Path, int, int], ...]) -> Report:
    return report(BOOK)
