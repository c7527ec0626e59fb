r"""Retrieval metrics: at which rank the right answer stands, in both directions.

From a table of violations (small is good) of C captions against I pictures, where each caption belongs to one
picture:

- image retrieval: a caption asks; its rank is that of its own picture among all pictures;
- caption retrieval: a picture asks; its rank is that of the best of its own captions among all captions.

Ranks count from 1. What violates as much as the right answer stands before it: a model that gives all pairs
the same number has the worst ranks, not the best. R@K is the percentage of ranks up to K.

*Source* Section 6.1, Table 2, and the evaluation of Vendrov and others (2016).
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int64
from torch import Tensor

TOP = (1, 5, 10)


def ranks(
    violations: Float[Tensor, "C I"], owner: Int64[Tensor, " C"]
) -> tuple[Int64[Tensor, " I"], Int64[Tensor, " C"]]:
    """The ranks of caption retrieval, one a picture, and of image retrieval, one a caption.

    `owner` has the column of each caption's own picture. NaN counts as larger than any number, so it ranks
    last.

    >>> ranks(torch.tensor([[0.1, 0.2], [0.3, 0.2], [0.4, 0.9]]), torch.tensor([0, 0, 1]))
    (tensor([1, 3]), tensor([1, 2, 2]))
    """
    pictures = violations.shape[1]
    violations = violations.nan_to_num(nan=torch.inf, posinf=torch.inf)
    own = violations.gather(1, owner[:, None])
    of_picture = (violations <= own).sum(1)  # itself among them
    best = own.new_full((pictures,), torch.inf).scatter_reduce(0, owner, own[:, 0], "amin")
    not_worse = violations <= best
    mine = not_worse.gather(1, owner[:, None])[:, 0]
    of_caption = not_worse.sum(0) - torch.bincount(owner[mine], minlength=pictures) + 1
    return of_caption, of_picture


def retrieval(violations: Float[Tensor, "C I"], owner: Int64[Tensor, " C"]) -> dict[str, float]:
    """R@1, R@5, R@10 in percent, mean and median rank, of caption and of image retrieval, by `ranks`.

    >>> found = retrieval(torch.tensor([[0.1, 0.2], [0.4, 0.3]]), torch.tensor([0, 1]))
    >>> found["caption_r1"], found["image_mean"]
    (50.0, 1.0)
    """
    found = {}
    for direction, place in zip(("caption", "image"), ranks(violations, owner), strict=True):
        for k in TOP:
            found[f"{direction}_r{k}"] = 100 * (place <= k).double().mean().item()
        found[f"{direction}_mean"] = place.double().mean().item()
        found[f"{direction}_median"] = float(place.double().quantile(0.5))
    return found


def mean_over_splits(
    errors: Callable[[Tensor, Tensor], Float[Tensor, "C I"]],
    captions: Float[Tensor, "captions H"],
    images: Float[Tensor, "pictures H"],
    owner: Int64[Tensor, " captions"],
    split: int = 1000,
) -> dict[str, float]:
    """Means of `retrieval` over parts of `split` pictures, each ranked against its own part only.

    Called once a part, `errors` makes a table of its captions' and its pictures' points.

    >>> points, owner = torch.eye(4), torch.arange(4)
    >>> mean_over_splits(lambda a, b: -a @ b.T, points, points, owner, split=2)["image_r1"]
    100.0
    """
    found = []
    for start in range(0, len(images), split):
        mine = (owner >= start) & (owner < start + split)
        table = errors(captions[mine], images[start : start + split])
        found.append(retrieval(table, owner[mine] - start))
    return {name: sum(each[name] for each in found) / len(found) for name in found[0]}
