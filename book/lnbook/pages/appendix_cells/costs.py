"""What layer norm costs a recurrent network: the recorded benchmark, read for the page.

Measured by benchmarks/recurrent.py, on one machine, as its provenance says; nothing here measures.
"""

from collections.abc import Mapping, Sequence

from lnbook.ledger.tables import Table

# The methods of the benchmark that the page shows, by the names it gives them.
PEERS = {
    "lnlib": "lnlib",
    "lnlib, recompute": "lnlib, memory saved",
    "loop": "loop of torch operations",
    "loop, TorchScript": "the same, TorchScript",
    "JAX scan": "JAX, lax.scan",
}
Row = Mapping[str, str]


def sizes(rows: Sequence[Row], mode: str) -> list[tuple[str, str]]:
    """Task and kind of each size that was timed, in the order of the benchmark."""
    return list(dict.fromkeys((row["task"], row["kind"]) for row in rows if row["mode"] == mode))


def ratio(rows: Sequence[Row], task: str, kind: str, mode: str, method: str = "lnlib") -> float:
    """The time of a call, or in mode "memory" the memory, over torch.nn's without a norm."""
    by_place = {(row["task"], row["kind"], row["mode"], row["method"]): row["ratio"] for row in rows}
    return float(by_place[task, kind, mode, method])


def table(rows: Sequence[Row]) -> Table:
    """Per network: torch.nn's milliseconds, and the quotients of the others, for training."""
    header = ["Network", "torch.nn, no norm", *PEERS.values()]
    shown = []
    for task, kind in sizes(rows, "training"):
        mine = [r for r in rows if (r["task"], r["kind"], r["mode"]) == (task, kind, "training")]
        by_method = {row["method"]: row for row in mine}
        plain = by_method["torch.nn, no norm"]
        quotients = [f"{float(by_method[m]['ratio']):.2f}" if m in by_method else "-" for m in PEERS]
        shown.append([f"{kind} {plain['size']}: {task}", f"{float(plain['ms']):,.0f} ms", *quotients])
    return Table(header, shown)
