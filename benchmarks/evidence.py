"""Laplace's evidence of one function under several weights, by laplace-torch and by lnlib.

    python benchmarks/evidence.py             print the table (a minute on one thread)
    python benchmarks/evidence.py --record    and keep it in book/results/benchmarks/

The network and the digits are those of the page "Using it" at book scale; the prior's precision is 1. Two
lines for each factor on the weights in front of the norms: as they are, and after `lnlib.fisher.canonical`.
Times are milliseconds, medians over rounds in each of which both take a turn. Needs the extra `laplace`.
"""

from functools import partial
from statistics import median

import evidence_peers
import torch
from rounds import Row, in_turn, parser, record

from lnbook.ledger.provenance import provenance
from lnbook.pages.beyond_using_fisher import network as digits
from lnlib.fisher import canonical, log_evidence

CASES, HIDDEN, STEPS = 1318, 12, 200
FACTORS = (0.2, 1.0, 5.0)


def main() -> None:
    args = parser(__doc__, 3).parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    x, y = digits.pooled_digits(CASES)
    model = digits.train(digits.network(HIDDEN, torch.Generator().manual_seed(0)), x, y, STEPS)
    rows: list[Row] = []
    for factor in FACTORS:
        plain = digits.stretched(model, factor)
        for taken, weights in {"as they are": plain, "canonical": canonical(plain, x)}.items():
            calls = {
                "laplace_torch": partial(evidence_peers.log_evidence, weights, x, y),
                "lnlib": partial(log_evidence, weights, x, y),
            }
            row: Row = {"factor": factor, "weights": taken} | {name: call() for name, call in calls.items()}
            for name, each in in_turn(calls, args.rounds, warm_up=0).items():
                row[f"{name}_ms"] = round(median(each), 1)
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
            rows.append(row)
    if args.record:
        record("evidence", rows, provenance(rounds=args.rounds))


if __name__ == "__main__":
    main()
