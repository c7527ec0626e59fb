"""`python -m lnbook claims`: print the ledger, keep a run's rows, refresh the README."""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from lnbook.ledger.recorded import first_sight
from lnbook.ledger.report import report
from lnbook.ledger.rows import SCALES, book_dir, read_pair, results_dir, write_pair, write_whole
from lnbook.ledger.rules import Rule, load_rules
from lnbook.ledger.tables import Table, marked, rules_table
from lnbook.ledger.verdicts import MARK, YOUNGER


def record(rules: Iterable[Rule], scale: str, folder: Path) -> None:
    """Copy the last run's rows and provenance, all or nothing, to `folder`, where they are committed."""
    pages = dict.fromkeys(rule.page for rule in rules)
    places = [results_dir(scale) / f"{page}.csv" for page in pages]
    measured = {place: read_pair(place) for place in places if place.is_file()}
    if not measured:
        raise FileNotFoundError(f"no rows in {results_dir(scale)}; `make book SCALE={scale}` makes them")
    for place, (rows, facts) in measured.items():
        kept = folder / place.name
        before = read_pair(kept)[1] if kept.is_file() else None
        write_pair(kept, rows, {**facts, "first": first_sight(facts, before)})


def replace_between_marks(text: str, mark: str, content: str) -> str:
    """The text with what stands between `<!-- mark -->` and `<!-- /mark -->` replaced."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    new, found = re.subn(f"{begin}.*?{end}", lambda old: begin + content + end, text, flags=re.DOTALL)
    if not found:
        raise ValueError(f"the text lacks the marks {begin} and {end}; put them where the table goes")
    return new


def readme_results(book: Path) -> str:
    """The README's results: the paper's sentences by verdict, what is decided against them, what is open."""
    known = report(book)
    parts = [known.tally().to_markdown(), f"{MARK} {YOUNGER}: a description, not a test."]
    against = known.brief("contradicted", "smaller than claimed", "below what counts here")
    for title, table in (
        ("Decided against the paper, at its own size:", against),
        ("Run at the paper's own size and not decided:", known.brief("undecided")),
    ):
        if table.rows:
            parts.append(f"{title}\n\n{table.to_markdown()}")
    return "\n" + "\n\n".join(parts) + "\n"


def main(argv: Sequence[str]) -> int:
    """`python -m lnbook claims`: print the ledger; keep measured rows; refresh the README."""
    parser = argparse.ArgumentParser(prog="python -m lnbook claims", description="the paper's claims, judged")
    parser.add_argument("--scale", choices=SCALES, default="book", help="of the rows that --record keeps")
    parser.add_argument("--record", action="store_true", help="copy the last run's rows to book/results/")
    parser.add_argument("--readme", action="store_true", help="write the verdicts into README.md")
    options = parser.parse_args(argv)
    book = book_dir()
    if book is None:
        print("no checkout here: the ledger's rows are in the repository; clone it", file=sys.stderr)
        return 1
    try:
        rules = load_rules()
        if options.record:
            record(rules, options.scale, book / "results" / options.scale)
        if options.readme:
            readme = book.parent / "README.md"
            text = readme.read_text(encoding="utf-8")
            content = readme_results(book)
            write_whole(readme, replace_between_marks(text, "claims", content).encode())
        known = report(book)
        judged = ((j.sentence, marked(j.verdict, j.sentence.id in known.younger)) for j in known.sentences)
        rows = [[sentence.place, sentence.says, verdict] for sentence, verdict in judged]
        print(Table(("Where", "The paper says", "Verdict"), rows).to_markdown(), end="\n\n")
        print(rules_table(known.rules, known.found, known.flags).to_markdown())
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
