"""The index of the book: where each word of the glossary, each equation and each function of lnlib occurs.

It is read from the sources of the pages, which need no marks for it: roles in prose, imports in code.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import nbformat
from docutils import nodes
from docutils.statemachine import StringList
from IPython.core.inputtransformer2 import TransformerManager
from sphinx.util.docutils import SphinxDirective

from digest import BOOK
from reference import MODULES, documented, public
from top import title

Found = dict[str, set[str]]  # entry -> pages


def prose(source: Path) -> str:
    """The text of a page, without its code cells."""
    if source.suffix == ".md":
        return source.read_text(encoding="utf-8")
    cells = nbformat.read(source, as_version=4).cells
    return "\n".join(c.source for c in cells if c.cell_type == "markdown")


def words(sources: Iterable[Path]) -> Found:
    """Pages that use each word of the glossary, in the spelling of its entry."""
    glossary = (BOOK / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(\w.*)$", glossary.partition(":::{glossary}")[2], flags=re.MULTILINE)
    found: Found = {entry: set() for entry in entries}
    spelled = {entry.lower(): entry for entry in entries}
    for source in (source for source in sources if source.stem != "glossary"):
        for said in re.findall(r"\{term\}`(?:[^`]*<)?([^`>]+)>?`", prose(source)):
            entry = " ".join(said.split()).lower()
            if entry in spelled:
                found[spelled[entry]].add(source.stem)
    return found


def equations(sources: Iterable[Path]) -> Found:
    """Pages that state or cite each numbered equation of the paper, by its label."""
    found: Found = defaultdict(set)
    for source in sources:
        for label in re.findall(r":label: (eq-\d+)\b|\{eq\}`(?:[^`]*<)?(eq-\d+)>?`", prose(source)):
            found["".join(label)].add(source.stem)
    return found


def functions(sources: Iterable[Path]) -> Found:
    """Pages whose code names each function or class of lnlib, by its name in the reference."""
    found: Found = {name: set() for name, thing in public().items() if callable(thing)}
    python = TransformerManager().transform_cell
    for source in (source for source in sources if source.suffix == ".ipynb"):
        cells = nbformat.read(source, as_version=4).cells
        code = "\n".join(python(c.source) for c in cells if c.cell_type == "code")
        for name in found.keys() & set(map(documented, names_of_lnlib(code))):
            found[name].add(source.stem)
    return found


def names_of_lnlib(code: str) -> set[str]:
    """The dotted names under lnlib that code imports, or reaches from what it imports.

    >>> sorted(names_of_lnlib("from lnlib import fisher, layer_norm\\nfisher.kl(a, b, x)"))
    ['lnlib.fisher', 'lnlib.fisher.kl', 'lnlib.layer_norm']
    """
    tree = ast.parse(code)
    local: dict[str, str] = {}
    reached: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            local |= {a.asname: a.name for a in node.names if a.asname} | {"lnlib": "lnlib"}
        elif isinstance(node, ast.ImportFrom):
            local |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    local = {name: dotted for name, dotted in local.items() if dotted.split(".")[0] == "lnlib"}
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Attribute)):
        head, _, rest = ast.unparse(node).partition(".")
        if head in local:
            reached.add(f"{local[head]}.{rest}")
    return set(local.values()) | reached


def listing(found: Found, order: list[str], entry: str) -> str:
    """MyST text: a list of the entries, each with links to its pages in the order of the book."""
    lines = []
    for name, pages in found.items():
        links = [f"{{doc}}`{_short(page)} <{page}>`" for page in order if page in pages]
        lines.append(f"- {entry.format(name)}" + ": " * bool(links) + ", ".join(links))
    return "\n".join(lines)


def _short(page: str) -> str:
    """The number of a section; else what the page is about, as in its file's name; else its title."""
    whole = title(page)
    if numbered := re.match(r"\d+(\.\d+)*", whole):
        return numbered[0]
    about = re.match(r"(?:appendix|beyond)_(\w+)", page)
    return about[1].replace("_", " ") if about else whole


def _by_number(entry: str) -> list[tuple[int, str]]:
    """A key that sorts eq2 before eq10 and cares for no capitals."""
    return [(int(digits or 0), rest) for digits, rest in re.findall(r"(\d*)(\D*)", entry.lower())]


ENTRIES = {
    "words": ("{{term}}`{}`", words),
    "equations": ("Equation {{eq}}`{}`", equations),
    "functions": ("{{py:obj}}`{}`", functions),
}


class LookupDirective(SphinxDirective):
    """`{lookup} words`, `{lookup} equations` or `{lookup} functions`: one part of the index."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        order = [Path(name).name for name in self.config.external_site_map if name.startswith("book/")]
        files = (BOOK / f"{page}{suffix}" for page in order for suffix in (".ipynb", ".md"))
        sources = [file for file in files if file.is_file() and file.stem != Path(self.env.docname).name]
        for source in sources:
            self.env.note_dependency(str(source))
        for module in MODULES:
            self.env.note_dependency(str(sys.modules[module].__file__))
        entry, find = ENTRIES[self.arguments[0]]
        found = sorted(find(sources).items(), key=lambda item: _by_number(item[0]))
        text = listing(dict(found), order, entry)
        part = nodes.container(classes=["lookup"])
        self.state.nested_parse(StringList(text.splitlines(), source="index"), 0, part)
        return [part]
