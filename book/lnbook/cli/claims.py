"""`python -m lnbook claims`: print the ledger, keep a run's rows, refresh the README's counts."""

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from lnbook.ledger.results import Claim, load_claims, load_evidence, table, tally
from lnbook.ledger.rows import SCALES, book_dir, results_dir

__all__ = ["main", "readme_table", "record", "replace_between_marks"]


def record(claims: Iterable[Claim], scale: str, folder: Path) -> None:
    """Copy the last run's rows and provenance to `folder`, where they are committed.

    Raises FileNotFoundError if no page of the claims has any.
    """
    pages = dict.fromkeys(c.page for c in claims)
    files = [file for page in pages for file in results_dir(scale).glob(f"{page}.*")]
    if not files:
        raise FileNotFoundError(f"no rows in {results_dir(scale)}; `make book SCALE={scale}` makes them")
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)


def replace_between_marks(text: str, mark: str, content: str) -> str:
    """The text with what stands between `<!-- mark -->` and `<!-- /mark -->` replaced.

    >>> replace_between_marks("a <!-- x -->old<!-- /x --> b", "x", "new")
    'a <!-- x -->new<!-- /x --> b'
    """
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the text lacks the marks {begin} and {end}; put them where the table goes")
    return head + begin + content + end + tail


def readme_table(folder: Path) -> str:
    """The README's results, by the committed rows at book scale: how many statements have each verdict."""
    claims = load_claims()
    counts = tally(claims, load_evidence(claims, scale="book", folder=folder))
    return f"\n{counts.to_markdown()}\n"


def main(argv: Sequence[str]) -> int:
    """`python -m lnbook claims`: print the ledger; keep measured rows; refresh the README's counts."""
    parser = argparse.ArgumentParser(prog="python -m lnbook claims", description="the paper's claims, judged")
    parser.add_argument("--scale", choices=SCALES, default="book")
    parser.add_argument("--record", action="store_true", help="copy the last run's rows to book/results/")
    parser.add_argument(
        "--readme", action="store_true", help="write the counts of the verdicts into README.md"
    )
    options = parser.parse_args(argv)
    book = book_dir()
    if (options.record or options.readme) and book is None:
        print("no checkout here: --record and --readme change files of the repository", file=sys.stderr)
        return 1
    try:
        claims = load_claims()
        if book and options.record:
            record(claims, options.scale, book / "results" / options.scale)
        if book and options.readme:
            readme = book.parent / "README.md"
            text = readme.read_text(encoding="utf-8")
            content = readme_table(book / "results")
            readme.write_text(replace_between_marks(text, "claims", content), encoding="utf-8")
        print(table(claims, load_evidence(claims, scale=options.scale)).to_markdown())
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
