"""What a trained network writes and where it looks, pictures of both, and a network trained long."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lnbook.data.strokes import encode
from lnbook.figures import plots
from lnbook.ledger.rows import book_dir
from lnbook.pages.sec6_5_handwriting.model import Handwriting, draw, mixture
from lnbook.training import torch_threads
from lnlib.rnn import plain

Strokes = Sequence[Float[np.ndarray, "_ 2"]]
MOST = 600  # points of a line


@torch.no_grad()
def write(
    model: Handwriting, alphabet: str, asked: Sequence[tuple[str, float]], generator: torch.Generator
) -> list[tuple[Float32[np.ndarray, "S 3"], Float32[np.ndarray, "T U"]]]:
    """Lines that a network writes, each point drawn from its mixture, and the window's weights behind each.

    `asked` are a text and Graves' b for each line: 0 for fair samples, more for neat ones. A line ends when
    the window looks more at the place behind the text than at any of its characters, or after `MOST` points.

    *Source* Graves (2013), section 5.4; the end as in his section 5.3.
    """
    numbers = [torch.from_numpy(encode(text, alphabet)) for text, _ in asked]
    texts = torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True)
    letters, bias = torch.tensor([len(n) for n in numbers]), torch.tensor([b for _, b in asked])
    point = torch.tensor([[[0.0, 0.0, 1.0]]]).expand(1, len(asked), 3)
    state: Sequence[Any] = (None, None, None)
    points, looks, ends = [point[0]], [], torch.full((len(asked),), MOST)
    # for one step alone the kernels would prepare, and several threads wait, longer than the step takes
    with torch_threads(1), plain():
        for step in range(MOST):
            y, phi, state = model.steps(point, texts, letters, state)
            looks.append(phi[0])
            h, _, _, kappa = state[0]
            alpha, beta, _ = model.first.window(h).exp().chunk(3, 1)
            behind = (alpha * (-beta * (kappa - letters[:, None]).square()).exp()).sum(1)
            ends = torch.where((behind > phi[0].amax(1)) & (ends == MOST), step, ends)
            if (ends < MOST).all():
                break
            point = draw(mixture(y[0], bias), generator)[None]
            points.append(point[0])
    drawn, seen = torch.stack(points, 1).numpy(), torch.stack(looks, 1).numpy()
    lines = zip(drawn, seen, ends.clamp_min(1).tolist(), letters.tolist(), strict=True)
    return [(line[: end + 1], phi[:end, :U]) for line, phi, end, U in lines]


def trained() -> tuple[Handwriting, dict[str, Any]]:
    """The network of the long run, from its weights in 16 bits, and its `job` with its data's `alphabet`."""
    with np.load((book_dir() or Path()) / "results/study/handwriting_weights.npz") as held:
        arrays = dict(held)
    facts = json.loads(str(arrays.pop("facts")))
    job, characters = facts["job"], len(facts["alphabet"])
    sizes = {"components": job["components"], "norm": job["norm"], "characters": characters}
    model = Handwriting(job["units"], **sizes, generator=torch.Generator())
    model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return model, facts


def written(lines: Sequence[tuple[str, Strokes]]) -> Figure:
    """Lines of writing below each other, to one measure, each under its title."""
    spans = [np.concatenate(list(strokes)) for _, strokes in lines]
    widest, heights = max(np.ptp(span[:, 0]) for span in spans), [np.ptp(span[:, 1]) for span in spans]
    size = (7.0, 6.8 * sum(heights) / widest + 0.35 * len(lines))
    fig, axes = plots.subplots(len(lines), 1, figsize=size, height_ratios=heights)
    for ax, (title, strokes), span in zip(axes, lines, spans, strict=True):
        ax.set_title(title, fontsize=10, loc="left", parse_math=False)
        _pen(ax, strokes)
        ax.set_xlim(span[:, 0].min() - 0.02 * widest, span[:, 0].min() + 1.02 * widest)
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
