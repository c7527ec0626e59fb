"""Pictures with captions: COCO's, and generated scenes."""

from lnlib.data.dataset import DataSet

__all__ = ["DATA_SETS"]

DATA_SETS: tuple[DataSet, ...] = ()
