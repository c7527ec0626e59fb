"""Figures in pages: loaded when they come near, a twin for the dark theme, a link to the drawn data."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from lnbook.figures.palette import GRID, GRID_DARK, INK, INK_DARK

WIDE = 570  # pixels; a phone's 342 would make letters of 10 points smaller than 8 pixels
GROUND_DARK = "#121212"  # the page's, for a dark twin that is opened alone


def load_late(doctree: nodes.document) -> None:
    """Let pictures load when a reader comes near, all but the first of a page; docutils writes `loading`."""
    for image in list(doctree.findall(nodes.image))[1:]:
        image["loading"] = "lazy"


def add_dark_twins(app: Sphinx, doctree: nodes.document) -> None:
    """Follow each SVG of a notebook by its twin with light ink; lnlib.css shows one of the two.

    The theme's own classes for this (only-light, only-dark) would hide the caption as well.
    """
    for image in list(doctree.findall(nodes.image)):
        uri = image["uri"]
        if not uri.endswith(".svg") or "jupyter_execute" not in uri:
            continue
        light = Path(app.srcdir, uri.lstrip("/"))
        dark = light.with_name(f"{light.stem}-dark.svg")
        drawing = light.read_text(encoding="utf-8")
        dark.write_text(dark_twin(drawing), encoding="utf-8")
        image["pixels"] = pixels(drawing)
        if image["pixels"][0] > WIDE:
            image["classes"] = [*image["classes"], "wide"]
        twin = image.deepcopy()
        twin["uri"] = uri.replace(light.name, dark.name)
        image["classes"] = [*image["classes"], "dark-light", "ink-dark"]
        twin["classes"] = [*twin["classes"], "dark-light", "ink-light"]
        image.parent.insert(image.parent.index(image) + 1, twin)


def dark_twin(drawing: str) -> str:
    """A drawing in light ink on the ground of the dark theme, which is there when it is opened alone, too.

    >>> dark_twin(f'<svg width="9pt"><path fill="{INK}"/></svg>')
    '<svg style="background:#121212" width="9pt"><path fill="#dfe3e8"/></svg>'
    """
    inked = drawing.replace(INK, INK_DARK).replace(GRID, GRID_DARK)
    return inked.replace("<svg ", f'<svg style="background:{GROUND_DARK}" ', 1)


def pixels(drawing: str) -> tuple[int, int]:
    """Width and height of a drawing on a screen.

    >>> pixels('<svg height="240.1pt" width="513pt">')
    (684, 320)
    """
    points = (re.search(rf'<svg [^>]*\b{side}="([\d.]+)pt"', drawing)[1] for side in ("width", "height"))
    width, height = (round(float(number) * 96 / 72) for number in points)
    return width, height


def link_drawn_data(doctree: nodes.document, names: set[str]) -> None:
    """Append "(data)" to the caption of every figure whose drawn numbers were kept as CSV."""
    for figure in doctree.findall(nodes.figure):
        name = next((n for n in figure.get("names", []) if n in names), None)
        caption = next(figure.findall(nodes.caption), None)
        if name and caption is not None:
            caption += nodes.Text(" ")
            caption += nodes.reference("", "(data)", refuri=f"data/{name}.csv", classes=["drawn-data"])


def size_and_link(body: str, doctree: nodes.document) -> str:
    """Write each drawing's size into a page's HTML, where the text below keeps its place until it comes, and
    link it to its own file, where a phone's reader can zoom in."""
    for image in doctree.findall(nodes.image):
        if "pixels" in image:
            width, height = image["pixels"]
            address = image["uri"]  # as it has just been written
            (drawing,) = set(re.findall(rf'<img [^>]*src="{re.escape(address)}"[^>]*>', body))
            sized = drawing.replace("<img ", f'<img width="{width}" height="{height}" ')
            link = f'<a class="{image["classes"][-1]}" href="{address}">{sized}</a>'
            body = body.replace(drawing, link)
    return body
