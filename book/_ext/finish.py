"""An executed notebook made into a page: its parameters in place, figures named, how it came about."""

import datetime
import json
import re
from collections.abc import Mapping
from pathlib import Path

import nbformat

from lnbook.ledger.provenance import provenance


def finish(ran: Path, copy: Path, parameters: Mapping[str, object], seconds: float) -> None:
    """Make a page of what papermill wrote: its parameters in place, figures named, how it came about."""
    notebook = nbformat.read(ran, as_version=4)
    _merge_parameters(notebook, parameters)
    _place_figures(notebook)
    facts = provenance(scale=parameters["scale"], seconds=round(seconds, 1))
    facts["executed"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    notebook.metadata.setdefault("lnlib", {})["run"] = facts
    notebook.metadata.pop("papermill", None)
    nbformat.write(notebook, copy)


def _merge_parameters(notebook: nbformat.NotebookNode, values: Mapping[str, object]) -> None:
    """Show the values that ran in the parameters cell itself, instead of in a second, injected one."""
    papermills = re.compile("injected-parameters|papermill-error.*")
    notebook.cells = [cell for cell in notebook.cells if not any(map(papermills.fullmatch, _tags(cell)))]
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        if "parameters" in _tags(cell):
            for name, value in values.items():
                given = f"{name} = {json.dumps(value)}"
                cell.source = re.sub(rf"^{name} = [^\s#]+", given, cell.source, flags=re.MULTILINE)


def figures(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Name, caption and alt text of the figures of `plots.figure` that a cell shows."""
    return [o.metadata["lnlib"] for o in cell.get("outputs", []) if "lnlib" in o.get("metadata", {})]


def _place_figures(notebook: nbformat.NotebookNode) -> None:
    """Hand what a figure is called and says to MyST-NB, which reads it from the cell."""
    for cell in notebook.cells:
        for notes in figures(cell)[:1]:
            cell.metadata["mystnb"] = cell.metadata.get("mystnb", {}) | {
                "image": {"alt": notes["alt"]},
                "figure": {"name": notes["name"], "caption": notes["caption"]},
            }


def _tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])
