"""Figures in pages: a twin for the dark theme, and a link to the drawn data in every caption."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from lnbook.figures.palette import GRID, GRID_DARK, INK, INK_DARK


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
        dark.write_text(
            drawing.replace(INK, INK_DARK).replace(GRID, GRID_DARK),
            encoding="utf-8",
        )
        twin = image.deepcopy()
        twin["uri"] = uri.replace(light.name, dark.name)
        image["classes"] = [*image["classes"], "dark-light", "ink-dark"]
        twin["classes"] = [*twin["classes"], "dark-light", "ink-light"]
        image.parent.insert(image.parent.index(image) + 1, twin)


def link_drawn_data(doctree: nodes.document, names: set[str]) -> None:
    """Append "(data)" to the caption of every figure whose drawn numbers were kept as CSV."""
    for figure in doctree.findall(nodes.figure):
        name = next((n for n in figure.get("names", []) if n in names), None)
        caption = next(figure.findall(nodes.caption), None)
        if name and caption is not None:
            caption += nodes.Text(" (")
            caption += nodes.reference("", "data", refuri=f"data/{name}.csv", classes=["drawn-data"])
            caption += nodes.Text(")")


def link_full_size(body: str) -> str:
    """Make each drawing in a page's HTML a link to its own file, where a phone's reader can zoom in.

    >>> link_full_size('<img alt="a" class="dark-light ink-dark" src="../x.svg" />')
    '<a class="ink-dark" href="../x.svg"><img alt="a" class="dark-light ink-dark" src="../x.svg" /></a>'
    """
    drawing = r'(<img [^>]*class="[^"]*\b(ink-dark|ink-light)\b[^"]*"[^>]*src="([^"]+)"[^>]*>)'
    return re.sub(drawing, r'<a class="\2" href="\3">\1</a>', body)
