"""Questions drawn at random for a small attentive reader, and its sizes."""

import torch
from torch import Tensor

WORDS, ENTITIES, H = 12, 4, 6
Texts = tuple[Tensor, Tensor, Tensor, Tensor]


def texts(seed: int = 1) -> Texts:
    """Five passages (5, 7), their lengths, queries (5, 4), their lengths; the first of each is not padded."""
    draw = torch.Generator().manual_seed(seed)
    found = []
    for steps in (7, 4):
        lengths = torch.randint(1, steps + 1, (5,), generator=draw)
        lengths[0] = steps
        ids = torch.randint(1, WORDS, (5, steps), generator=draw)
        found += [ids * (torch.arange(steps) < lengths[:, None]), lengths]
    return found[0], found[1], found[2], found[3]
