"""What a trained network writes and where it looks, pictures of both, and its weights in a small file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float32
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from lnbook.data.strokes import encode
from lnbook.figures import plots
from lnbook.ledger.rows import book_dir
from lnbook.pages.sec6_5_handwriting.mixture import draw, mixture
from lnbook.pages.sec6_5_handwriting.model import Handwriting
from lnbook.training import torch_threads
from lnlib.rnn import plain

Strokes = Sequence[Float[np.ndarray, "_ 2"]]
# the weights of the long run, by `save_weights`
RECORDED = (book_dir() or Path()) / "results" / "study" / "handwriting_weights.npz"


class Script(NamedTuple):
    """One line that a network wrote."""

    text: str
    points: Float32[np.ndarray, "S 3"]  # (dx, dy, end of stroke), the first (0, 0, 1)
    phi: Float32[np.ndarray, "T U"]  # the window's weight of each character, after each point but the last
    done: bool  # whether the window left the text, as it should, before the points were used up


@torch.no_grad()
def write(
    model: Handwriting,
    alphabet: str,
    asked: Sequence[tuple[str, float]],
    generator: torch.Generator,
    *,
    most: int = 600,
) -> list[Script]:
    """Let a network write lines, point by point, each drawn from its own mixture.

    `asked` are a text and Graves' b for each line: 0 for fair samples, more for neat ones. A line ends when
    the window looks more at the place behind the text than at any of its characters, or after `most` points.

    *Source* Graves (2013), section 5.4; the end as in his section 5.3.
    """
    numbers = [torch.from_numpy(encode(text, alphabet)) for text, _ in asked]
    texts = torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True)
    letters, bias = torch.tensor([len(n) for n in numbers]), torch.tensor([b for _, b in asked])
    point = torch.tensor([[[0.0, 0.0, 1.0]]]).expand(1, len(asked), 3)
    state, points, looks, ends = model.start(point), [point[0]], [], torch.full((len(asked),), most)
    # for one step alone the kernels would prepare, and several threads wait, longer than the step takes
    with torch_threads(1), plain():
        for step in range(most):
            y, phi, state = model.steps(point, texts, letters, state)
            looks.append(phi[0])
            left = _behind(model, state.first.h, state.first.kappa, letters) > phi[0].amax(1)
            ends = torch.where(left & (ends == most), step, ends)
            if (ends < most).all():
                break
            point = draw(mixture(y[0], bias), generator)[None]
            points.append(point[0])
    drawn, seen, found = torch.stack(points), torch.stack(looks), []
    for n, (text, _) in enumerate(asked):
        end = max(1, int(ends[n]))
        line = drawn[: end + 1, n].numpy().copy()
        found.append(Script(text, line, seen[:end, n, : len(text)].numpy().copy(), int(ends[n]) < most))
    return found


def _behind(model: Handwriting, h: Tensor, kappa: Tensor, letters: Tensor) -> Float[Tensor, " N"]:
    """The window's weight of the place behind the text."""
    alpha, beta, _ = model.first.window(h).exp().chunk(3, 1)
    return (alpha * (-beta * (kappa - letters[:, None]).square()).exp()).sum(1)


def save_weights(path: Path, model: Handwriting, facts: dict[str, Any]) -> None:
    """Weights in 16 bits, and facts in JSON: the run's `job`, its data's `alphabet` and `scale`."""
    arrays = {name: value.numpy().astype(np.float16) for name, value in model.state_dict().items()}
    np.savez_compressed(path, **arrays, facts=np.array(json.dumps(facts)))


def load_weights(path: Path) -> tuple[Handwriting, dict[str, Any]]:
    """The network that `save_weights` kept, and how it came about."""
    with np.load(path, allow_pickle=False) as held:
        facts = json.loads(str(held["facts"]))
        names = [name for name in held.files if name != "facts"]
        weights = {name: torch.from_numpy(held[name].astype(np.float32)) for name in names}
    job = facts["job"]
    sizes = {"characters": len(facts["alphabet"]), "components": job["components"], "norm": job["norm"]}
    model = Handwriting(job["units"], **sizes, generator=torch.Generator())
    model.load_state_dict(weights)
    return model, facts


def written(lines: Sequence[tuple[str, Strokes]]) -> Figure:
    """Lines of writing below each other, to one measure, each under its title."""
    spans = [np.concatenate(list(strokes)) for _, strokes in lines]
    widest = max(np.ptp(span[:, 0]) for span in spans)
    room, y = 0.07 * widest, 0.0
    height = sum(np.ptp(span[:, 1]) + room for span in spans)
    fig, ax = plots.subplots(figsize=(7.0, min(9.0, max(1.0, 6.8 * height / widest))))
    for (title, strokes), span in zip(lines, spans, strict=True):
        ax.text(0, y - 0.6 * room, title, fontsize=10, parse_math=False)
        shift = np.array([-span[:, 0].min(), y - room - span[:, 1].max()])
        _pen(ax, [stroke + shift for stroke in strokes])
        y -= np.ptp(span[:, 1]) + room
    ax.set(xlim=(-0.02 * widest, 1.02 * widest), ylim=(y - 0.02 * widest, 0))
    return fig


def reading(strokes: Strokes, phi: Float[np.ndarray, "T U"], text: str) -> Figure:
    """A written line, and below it the window's weight of each character at each of its points."""
    fig, (above, below) = plots.subplots(2, 1, figsize=(7.0, 4.6), height_ratios=(1, 3.2))
    _pen(above, strokes)
    shown = phi / np.maximum(phi.max(1, keepdims=True), 1e-9)
    colors = {"cmap": plots.AMOUNT, "vmin": 0, "vmax": 1}
    below.imshow(shown.T, aspect="auto", interpolation="nearest", rasterized=True, **colors)
    below.set_yticks(range(len(text)), [c if c.strip() else "␣" for c in text], fontsize=8)
    below.set(xlabel="points of the pen", ylabel="characters")
    below.grid(visible=False)
    return fig


def _pen(ax: Axes, strokes: Strokes) -> None:
    look: dict[str, Any] = {"color": plots.INK, "lw": 1.3, "solid_capstyle": "round", "ms": 3}
    for stroke in strokes:
        ax.plot(*np.asarray(stroke).T, marker="." if len(stroke) == 1 else "", **look)
    ax.set_aspect("equal")
    ax.axis("off")
