"""Labelled sentences and sentence pairs."""

from lnlib.data.dataset import DataSet

__all__ = ["DATA_SETS"]

DATA_SETS: tuple[DataSet, ...] = ()
