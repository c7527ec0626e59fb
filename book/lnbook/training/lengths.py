"""Mini-batches of sequences of similar lengths: little is computed on padding."""

from collections.abc import Sequence

import torch
from jaxtyping import Int64
from torch import Tensor

from lnbook.training.batches import Minibatches
from lnbook.training.task import Cases

__all__ = ["LengthBatches"]


class LengthBatches(Minibatches):
    """Batches without end, each of sequences that are about equally long, in a fresh random order.

    An epoch's random order is cut into pools of `pool` batches; each pool is sorted by length, cut into
    batches, and the epoch's batches are put in random order. So a batch is of one length, and which cases
    it unites differs from epoch to epoch. The cases that do not fill a last batch are left out of that
    epoch. What is padded in a batch is cut to the longest sequence in it.

    Args:
        cases: tensors of equal length, axis 0 counts the cases.
        lengths: of the sequences: one number a case, or one for each tensor of `cut`.
        batch_size: cases of a batch, in all processes together.
        generator: of the order; all processes must have the same.
        cut: which of `cases` are padded along axis 1.
        pool: batches that are sorted together; more of them pad less and mix less.
        rank, world: this process takes every `world`-th case of a batch, from the `rank`-th on. It cuts to
            the longest of the whole batch, so that all processes compute alike.

    >>> words = torch.tensor([[3, 0, 0], [4, 5, 6], [7, 8, 9], [2, 0, 0]])
    >>> lengths = torch.tensor([1, 3, 3, 1])
    >>> batches = LengthBatches((words,), lengths, 2, torch.Generator().manual_seed(0), cut=[0])
    >>> sorted(next(batches)[0].shape[1] for _ in range(2)), batches.padding()
    ([1, 3], 0.0)
    """

    def __init__(
        self,
        cases: Cases,
        lengths: Int64[Tensor, "N *cut"],
        batch_size: int,
        generator: torch.Generator,
        *,
        cut: Sequence[int],
        pool: int = 32,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        table = lengths[:, None].expand(-1, len(cut)) if lengths.ndim == 1 else lengths
        self.lengths, self.cut, self.pool = table, tuple(cut), pool
        super().__init__(cases, batch_size, generator, rank=rank, world=world)

    def _arrange(self, order: Tensor) -> Sequence[Tensor]:
        total = self.lengths.sum(1)
        batches: list[Tensor] = []
        for some in order.split(self.pool * self.batch_size):
            batches += some[total[some].argsort(stable=True)].split(self.batch_size)
        return [batches[k] for k in torch.randperm(len(batches), generator=self.generator).tolist()]

    def _cut(self, batch: Tensor) -> Cases:
        longest = dict(zip(self.cut, self.lengths[batch].amax(0).tolist(), strict=True))
        return tuple(x[:, : longest[k]] if k in longest else x for k, x in enumerate(self.cases))

    def padding(self) -> float:
        """The share of padding in the steps of this epoch's batches, all tensors of `cut` together."""
        steps = sum(int(self.lengths[batch].amax(0).sum()) * len(batch) for batch in self._batches)
        return 1 - sum(int(self.lengths[batch].sum()) for batch in self._batches) / steps
