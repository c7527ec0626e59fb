"""Mini-batches of passages with their questions, both of similar lengths."""

from math import isqrt

import torch
from torch import Tensor

from lnbook.training import LengthBatches


class PairBatches(LengthBatches):
    """`LengthBatches` of two sequences a case, the second the shorter: sorted by both, not by their sum.

    A pool is parted into groups by the second length, and each group is sorted by the first.

    >>> lengths = torch.tensor([[9, 1], [1, 9], [9, 1], [1, 9]])  # equal sums
    >>> words = torch.ones(4, 9, dtype=torch.int64)
    >>> pairs = PairBatches((words, words), lengths, 2, torch.Generator().manual_seed(0), cut=[0, 1])
    >>> pairs.padding()
    0.0
    """

    def _arrange(self, order: Tensor) -> list[Tensor]:
        first, second = self.lengths.unbind(1)
        batches: list[Tensor] = []
        for some in order.split(self.pool * self.batch_size):
            groups = max(2, isqrt(len(some) // self.batch_size))  # of whole batches
            size = self.batch_size * -(-len(some) // (self.batch_size * groups))
            for group in some[second[some].argsort(stable=True)].split(size):
                batches += group[first[group].argsort(stable=True)].split(self.batch_size)
        whole = [batch for batch in batches if len(batch) == self.batch_size]
        return [whole[k] for k in torch.randperm(len(whole), generator=self.generator).tolist()]
