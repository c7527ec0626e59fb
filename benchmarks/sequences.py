"""What an update of the paper's four experiments on sequences costs, and where the time goes.

    python benchmarks/sequences.py             print the table (half an hour on a quiet machine)
    python benchmarks/sequences.py --record    and keep it in book/results/benchmarks/

At the sizes of the book's own runs and of the paper's, float32, one core. Where the paper's data need a
registration or a server of their own, its sizes are fed with other data (`INSTEAD`). Times are processor
milliseconds an update, the batch included; the ratio is to the network without a norm, the median over rounds
(at the paper's sizes two) in each of which both run in turn, with its least and largest; shares are of
torch's profile of such updates; memory is what an update adds to a process at its peak, in MB. Without the
user's folder of data ($LNLIB_DATA) the stand-ins serve, with lengths and vocabularies of their own; the
provenance says which were read.
"""

from collections.abc import Iterator

import torch
from rounds import Row, run

from lnbook.cli.experiments import find
from lnbook.shared.steps.costs import one_of_each_norm, step_costs
from lnbook.shared.steps.profile import PARTS

INSTEAD = {  # of the paper's studies: captions with boxes, questions about novels, lines of letters
    "6.1": {"data": "coco_captions"},
    "6.2": {"data": "gutenberg", "markers": 10},
    "6.3": {"batch_size": 16},  # of 128: an update of those takes minutes
    "6.5": {"data": "omniglot_strokes", "lines": 2000, "judged": 100, "longest": 16},
}
COLUMNS = ("section", "scale", "norm", "batch_size", "ms", "ratio", "ratio_low", "ratio_high", *PARTS)


def measure(rounds: int) -> Iterator[Row]:
    """An update with no norm and with layer norm, of each experiment at each size."""
    torch.set_num_threads(1)
    for section, instead in INSTEAD.items():
        yield from costs(section, "book", {}, rounds=rounds, updates=3)
        yield from costs(section, "paper", instead, rounds=min(rounds, 2), updates=1)


def costs(section: str, scale: str, changed: dict[str, object], **sizes: int) -> Iterator[Row]:
    experiment = find(section)
    each = [job for job in one_of_each_norm(experiment, scale) if job["norm"] in ("none", "layer")]
    jobs = [{**job, **changed} for job in each]
    for row in step_costs(experiment, scale, jobs, memory=True, **sizes):
        row |= {"section": section, "scale": scale}
        yield {name: row[name] for name in (*COLUMNS, "padding", "step_mb")}


if __name__ == "__main__":
    line = "{:<9}{:<7}{:<7}{:>10}{:>9}{:>7}" + "{:>11}" * 9
    run(__doc__, "sequences", measure, line, rounds=7)
