"""Questions about texts: bAbI, and generated stories."""

from lnlib.data.dataset import DataSet

__all__ = ["DATA_SETS"]

DATA_SETS: tuple[DataSet, ...] = ()
