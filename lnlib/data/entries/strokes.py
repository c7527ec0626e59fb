"""Pen strokes: Omniglot's, IAM-OnDB's, and generated ones."""

from lnlib.data.dataset import DataSet

__all__ = ["DATA_SETS"]

DATA_SETS: tuple[DataSet, ...] = ()
