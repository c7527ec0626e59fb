"""Questions about normalizations, drawn at random, and a check of the answers that computes them."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lnbook.ledger.tables import Table
from lnbook.pages.beyond_convolution.reductions import FIVE, axes, normalize

LAYOUTS = ("NCHW", "NHWC", "NTC", "NCT")
KINDS = ("name", "axes", "means", "gains")
NAMES = ("batch", "layer", "instance", "channels")  # group norm's axes need a split of the channels first


class Question(NamedTuple):
    """What is asked: a name for axes, axes for a name, the number of means, or of a layer's gains."""

    kind: str
    shape: tuple[int, ...]
    layout: str
    norm: str
    groups: int

    def __str__(self) -> str:
        a, over = f"a of shape {self.shape}, {self.layout}", axes(FIVE[self.norm].over, self.layout)
        space = ", ".join(axis for axis in self.layout if axis not in "NC")
        title = FIVE[self.norm].title.replace("H, W", space)
        if self.norm == "group":
            title += f" with {self.groups} groups"
        return {
            "name": f"{a}: a.mean({over}) belongs to which of {', '.join(NAMES)}?",
            "axes": f"{a}: over which axes does {title} take its mean?",
            "means": f"{a}: how many means does {title} take?",
            "gains": f"How many gains has torch.nn.{_layer(self)[1]}?",
        }[self.kind]


def ask(count: int = 6, *, seed: int = 0) -> list[Question]:
    """Random questions, of every kind in turn; each prints as text.

    All sizes of a shape differ and exceed 1, so that normalizations differ in values and counts.

    >>> print(ask(1)[0])
    a of shape (5, 8, 9), NCT: a.mean((1,)) belongs to which of batch, layer, instance, channels?
    """
    draw = random.Random(seed)
    return [_question(KINDS[k % len(KINDS)], draw) for k in range(count)]


def is_right(question: Question, answer: Any) -> bool:
    """Whether an answer is right, found by running what the question speaks of."""
    a = torch.randn(question.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    over = axes(FIVE[question.norm].over, question.layout)
    if question.kind == "name":
        return answer in NAMES and _same(_over(a, over), normalize(a, answer, question.layout))
    if question.kind == "axes":
        answer = (answer,) if isinstance(answer, int) else tuple(answer)
        if not answer or not all(-a.ndim <= axis < a.ndim for axis in answer):
            return False
        return _same(_over(a, answer), normalize(a, question.norm, question.layout))
    if question.kind == "gains":
        return answer == _layer(question)[0].get_parameter("weight").numel()
    if question.norm == "group":
        channel = question.layout.index("C")
        split = a.unflatten(channel, (question.groups, -1))  # the group's axis stays
        within = [k + (k >= channel) for k in over]
        return answer == split.mean(within).numel()
    return answer == a.mean(over).numel()


def check(questions: Sequence[Question], answers: Sequence[Any]) -> Table:
    """Each answer, None where you do not know, beside its question, with "right", "wrong" or "open"."""
    rows = [
        [str(q), "" if a is None else str(a), "open" if a is None else "right" if is_right(q, a) else "wrong"]
        for q, a in zip(questions, answers, strict=True)
    ]
    return Table(["Question", "Answer", ""], rows)


def _question(kind: str, draw: random.Random) -> Question:
    layout = draw.choice(LAYOUTS)
    norm = draw.choice(NAMES if kind in ("name", "axes") else tuple(FIVE))
    groups = draw.choice((2, 4))
    sizes = dict(zip("NHWT", draw.sample((2, 3, 5, 6, 7, 9, 10), 4), strict=True))
    sizes["C"] = draw.choice((4, 8, 12))
    return Question(kind, tuple(sizes[axis] for axis in layout), layout, norm, groups)


def _over(a: Tensor, dims: Sequence[int]) -> Tensor:
    """One mean and standard deviation for what differs only along `dims`."""
    d = a - a.mean(tuple(dims), keepdim=True)
    return d / (d.square().mean(tuple(dims), keepdim=True) + 1e-5).sqrt()


def _same(one: Tensor, two: Tensor) -> bool:
    return bool((one - two).abs().max() < 1e-9)


def _layer(question: Question) -> tuple[nn.Module, str]:
    """The layer of torch.nn that a question is about, and how it is written."""
    sizes = dict(zip(question.layout, question.shape, strict=True))
    channels = sizes["C"]
    space = [size for axis, size in sizes.items() if axis not in "NC"]
    made: dict[str, tuple[type[nn.Module], tuple[Any, ...], dict[str, bool]]] = {
        "batch": ((nn.BatchNorm1d, nn.BatchNorm2d)[len(space) - 1], (channels,), {}),
        "layer": (nn.LayerNorm, ([channels, *space],), {}),
        "instance": ((nn.InstanceNorm1d, nn.InstanceNorm2d)[len(space) - 1], (channels,), {"affine": True}),
        "group": (nn.GroupNorm, (question.groups, channels), {}),
        "channels": (nn.LayerNorm, (channels,), {}),
    }
    kind, numbers, named = made[question.norm]
    written = [*map(str, numbers), *(f"{name}={value}" for name, value in named.items())]
    return kind(*numbers, **named), f"{kind.__name__}({', '.join(written)})"
