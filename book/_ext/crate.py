"""What a bundle is, for machines: the RO-Crate 1.1 description of its files, by the library `rocrate`."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, time
from typing import Any

from rocrate.model.person import Person
from rocrate.rocrate import ROCrate

CRATE = "ro-crate-metadata.json"
FOLDERS = {
    "html": "The book as pages: open html/index.html",
    "pdf": "The book as one PDF",
    "executed": "Each page's executed notebook, its measured rows (CSV, JSON), its figures' data (CSV)",
    "packages": "Wheels and sources of lnlib and of the book's own package lnlib-book",
}


def description(files: Iterable[str], citation: Mapping[str, Any], scale: str) -> bytes:
    """The content of `ro-crate-metadata.json`.

    Args:
        files: names in the bundle.
        citation: what CITATION.cff says.
        scale: at which the pages ran.
    """
    crate = ROCrate(version="1.1")
    crate.name = f"{citation['title']} {citation['version']}"
    crate.description = f"An executable book, executed at {scale} scale, with all that it measured"
    crate.datePublished = datetime.combine(citation["date-released"], time())
    crate.license = " AND ".join(citation["license"])
    crate.root_dataset["version"] = citation["version"]
    crate.creator = [
        crate.add(Person(crate, f"#author-{number}", {"name": author["name"]}))
        for number, author in enumerate(citation["authors"], 1)
    ]
    folders = {
        name: crate.add_dataset(dest_path=f"{name}/", properties={"description": words})
        for name, words in FOLDERS.items()
    }
    for name in sorted(files):
        part = crate.add_file(dest_path=name)
        if folder := folders.get(name.split("/")[0]):
            folder.append_to("hasPart", part)
    return (json.dumps(crate.metadata.generate(), indent=1, sort_keys=True) + "\n").encode()
