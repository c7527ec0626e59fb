"""What an update of the paper's four experiments on sequences costs, and where the time goes.

    python benchmarks/sequences.py             print the table (some minutes on a quiet machine)
    python benchmarks/sequences.py --record    and keep it in book/results/benchmarks/

At the sizes of the book's own runs and of the paper's, float32, one core. Where the paper's data need a
registration or a server of their own, its sizes are fed with other data (`INSTEAD`). Times are processor
milliseconds an update, the batch included; the ratio is to the network without a norm, the median over rounds
in each of which both run in turn, with its least and largest; shares are of torch's profile of such updates;
memory is what an update adds to a process at its peak, in MB. Without the user's folder of data ($LNLIB_DATA)
the stand-ins serve, with lengths and vocabularies of their own; the provenance says which were read.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from rounds import Row, record, shown

from lnbook.cli.experiments import find
from lnbook.ledger.provenance import provenance
from lnbook.ledger.rows import book_dir, read_facts, read_rows
from lnbook.shared.steps.costs import one_of_each_norm, step_costs
from lnbook.shared.steps.profile import PARTS

SECTIONS = ("6.1", "6.2", "6.3", "6.5")
ROUNDS = {"smoke": 3, "book": 7, "paper": 2}
INSTEAD = {  # of the paper's studies: captions with boxes, questions about novels, lines of letters
    "6.1": {"data": "coco_captions"},
    "6.2": {"data": "gutenberg", "markers": 10},
    "6.3": {"batch_size": 16},  # of 128: an update of those takes minutes
    "6.5": {"data": "omniglot_strokes", "lines": 2000, "judged": 100, "longest": 16},
}
LINE = "{:<9}{:<7}{:<7}{:>10}{:>9}{:>7}" + "{:>11}" * 9
COLUMNS = ("section", "scale", "norm", "batch_size", "ms", "ratio", "ratio_low", "ratio_high", *PARTS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", action="store_true", help="keep the rows in book/results/benchmarks/")
    parser.add_argument("--only", choices=SECTIONS, help="one experiment")
    parser.add_argument("--scales", nargs="+", choices=ROUNDS, default=("book", "paper"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    for section in [args.only] if args.only else SECTIONS:
        rows = shown(measure(section, args.scales), LINE)
        if args.record:
            keep(section, rows)


def keep(section: str, rows: list[Row]) -> None:
    """Record a section's rows in place of its old ones, with facts of its own: each may be run by itself."""
    place = (book_dir() or Path()) / "results"
    facts: dict[str, object] = {}
    old: list[dict[str, str]] = []
    if (place / "benchmarks" / "sequences.csv").is_file():
        facts = read_facts("sequences", scale="benchmarks", folder=place)
        old = read_rows("sequences", scale="benchmarks", folder=place)
    facts[section] = provenance()
    both = [*rows, *(row for row in old if row["section"] != section)]
    record("sequences", sorted(both, key=lambda row: (str(row["section"]), str(row["scale"]))), facts)


def measure(section: str, scales: Iterable[str]) -> Iterator[Row]:
    experiment = find(section)
    for scale in scales:
        changed = INSTEAD[section] if scale == "paper" else {}
        each = [job for job in one_of_each_norm(experiment, scale) if job["norm"] in ("none", "layer")]
        jobs = [{**job, **changed} for job in each]
        updates = 1 if scale == "paper" else 3
        for row in step_costs(experiment, scale, jobs, rounds=ROUNDS[scale], updates=updates, memory=True):
            row |= {"section": section, "scale": scale}
            yield {name: row[name] for name in (*COLUMNS, "padding", "step_mb")}


if __name__ == "__main__":
    main()
