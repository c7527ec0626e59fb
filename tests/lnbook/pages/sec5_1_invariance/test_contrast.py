"""Classifiers that meet digits at another contrast: what the invariances say beforehand."""

from lnbook.pages.sec5_1_invariance import drawings
from lnlib.invariance import table1


def test_a_cell_of_table_1_that_disagrees_is_framed() -> None:
    rows = table1(layers=1)
    wrong = [rows[0]._replace(invariant=False), *rows[1:]]
    pictures = [drawings.table1(r).axes[0] for r in (rows, wrong)]
    assert [sum(p.get_linewidth() == 3 for p in ax.patches) for ax in pictures] == [0, 1]
