"""An executed notebook made into a page: its parameters in place, figures named, how it came about."""

import datetime
from pathlib import Path

import nbformat

from lnbook.ledger.provenance import provenance


def finish(ran: Path, copy: Path, scale: str, seconds: float) -> None:
    """Make a page of what papermill wrote: its parameters in place, figures named, how it came about."""
    notebook = nbformat.read(ran, as_version=4)
    _merge_parameters(notebook)
    _place_figures(notebook)
    facts = provenance(scale=scale, seconds=round(seconds, 1))
    facts["executed"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    notebook.metadata.setdefault("lnlib", {})["run"] = facts
    notebook.metadata.pop("papermill", None)
    nbformat.write(notebook, copy)


def _merge_parameters(notebook: nbformat.NotebookNode) -> None:
    """Show the values that ran in the parameters cell itself, instead of in a second, injected one."""
    values_set = [cell.source for cell in notebook.cells if "injected-parameters" in _tags(cell)]
    notebook.cells = [cell for cell in notebook.cells if not injected(cell)]
    given = "\n".join(values_set).splitlines()
    values = dict(line.split(" = ", 1) for line in given if " = " in line)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        if "parameters" in _tags(cell):
            lines = []
            for line in cell.source.splitlines():
                name, _, rest = line.partition(" = ")
                comment = rest.partition("#")[2]
                lines.append(
                    f"{name} = {values[name]}" + (f"  #{comment}" if comment else "")
                    if name in values
                    else line
                )
            cell.source = "\n".join(lines)


def figures(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Name, caption and alt text of the figures of `plots.figure` that a cell shows."""
    return [o.metadata["lnlib"] for o in cell.get("outputs", []) if "lnlib" in o.get("metadata", {})]


def _place_figures(notebook: nbformat.NotebookNode) -> None:
    """Hand what a figure is called and says to MyST-NB, which reads it from the cell."""
    for cell in notebook.cells:
        for notes in figures(cell)[:1]:
            cell.metadata["mystnb"] = cell.metadata.get("mystnb", {}) | {
                "image": {"alt": notes["alt"]},
                "figure": {
                    "name": notes["name"],
                    "caption": notes["caption"],
                },
            }


def injected(cell: nbformat.NotebookNode) -> bool:
    """Whether papermill put this cell in: its parameters, its marks of an error."""
    return any(tag == "injected-parameters" or tag.startswith("papermill-error") for tag in _tags(cell))


def _tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])
