"""Seeds and mini-batches: nothing here draws from a global random state.

Initial weights, the order of the data and the noise of a model come from generators of their own, so that
two methods of one seed start from the same weights and see the same cases in the same order.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor

from lnbook.training.distributed import ALONE, Group
from lnbook.training.task import Cases


def generators(seed: int, count: int = 2) -> tuple[torch.Generator, ...]:
    """Independent CPU generators of one seed: for the initial weights, the order of the data, and more."""
    draw = torch.Generator().manual_seed(seed)
    seeds = torch.randint(2**62, (count,), generator=draw).tolist()
    return tuple(torch.Generator().manual_seed(s) for s in seeds)


def noise_of(seed: int, update: int, rank: int = 0) -> torch.Generator:
    """The generator of a model's own draws at one update in one process: a function of the three numbers.

    A run that resumes at an update therefore needs nothing from those before it. No two updates of a process
    share a generator: the steps below are odd, and torch takes the lowest 32 bits of a CPU generator's seed.
    """
    base = int.from_bytes(hashlib.sha256(f"noise {seed}".encode()).digest()[:8], "big")
    mixed = (base + 0x9E3779B97F4A7C15 * (update + 1) + 0xBF58476D1CE4E5B9 * rank) % 2**63
    return torch.Generator().manual_seed(mixed)


class Minibatches(Iterator[Cases]):
    """Batches without end: each epoch in a fresh random order, every batch of full size.

    The cases that do not fill a last batch (88 of 55,000 at size 128) are left out of that epoch. The
    processes of a `group` part each batch among them; all must have a `generator` of the same seed.

    >>> batches = Minibatches((torch.arange(5),), 2, torch.Generator().manual_seed(0))
    >>> [next(batches)[0].tolist() for _ in range(3)]
    [[4, 0], [1, 3], [3, 4]]
    """

    def __init__(
        self, cases: Cases, batch_size: int, generator: torch.Generator, group: Group = ALONE
    ) -> None:
        if not 1 <= batch_size <= len(cases[0]):
            raise ValueError(f"A batch holds 1 to {len(cases[0])} cases, not {batch_size}.")
        if batch_size % group.world:
            raise ValueError(
                f"A batch of {batch_size} cases does not part evenly among {group.world} processes."
            )
        self.cases, self.batch_size, self.generator, self.group = cases, batch_size, generator, group
        self._begin()

    def _begin(self) -> None:
        self._epoch_start = self.generator.get_state()
        order = torch.randperm(len(self.cases[0]), generator=self.generator)
        self._batches = self._arrange(order[: len(order) // self.batch_size * self.batch_size])
        self._position = 0

    def _arrange(self, order: Tensor) -> Sequence[Tensor]:
        return order.split(self.batch_size)

    def _cut(self, batch: Tensor) -> Cases:
        return self.cases

    def __next__(self) -> Cases:
        if self._position == len(self._batches):
            self._begin()
        batch = self._batches[self._position]
        chosen = batch[self.group.rank :: self.group.world]
        self._position += 1
        return tuple(x.index_select(0, chosen.to(x.device)) for x in self._cut(batch))

    def state_dict(self) -> dict[str, Any]:
        """Where the batches stand: the generator before this epoch, and how many of its batches are gone."""
        return {"epoch_start": self._epoch_start, "position": self._position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.generator.set_state(state["epoch_start"])
        self._begin()
        self._position = int(state["position"])


class LengthBatches(Minibatches):
    """Batches without end, each of sequences that are about equally long, in a fresh random order.

    An epoch's random order is cut into pools of `pool` batches; each pool is sorted by length, cut into
    batches, and the epoch's batches are put in random order. So a batch is of one length, and which cases
    it unites differs from epoch to epoch. `cut` names the tensors of `cases` that are padded along axis 1 and
    here cut to the longest sequence in a batch; `lengths` has one number a case, or one for each of them.

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
        group: Group = ALONE,
        *,
        cut: Sequence[int],
        pool: int = 32,
    ) -> None:
        table = lengths[:, None].expand(-1, len(cut)) if lengths.ndim == 1 else lengths
        self.lengths, self.cut, self.pool = table, tuple(cut), pool
        super().__init__(cases, batch_size, generator, group)

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
