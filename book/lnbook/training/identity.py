"""What a run is: its settings, the data that it reads and the code that decides its numbers.

The code is that of the experiment's module and of the loop, and of what they import from `lnlib` and
`lnbook`, name by name: of a package that only passes a name on, the module that defines it. Of each file
counts what it computes: words do not (comments, docstrings, an experiment's `Settings`), nor do lists of what
there is to run (`STUDIES`): what a run takes from them stands among its settings. `WITHOUT` numbers are the
modules that keep a run or tell of it, and those that find data, whose content is told by itself.
"""

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lnbook.data import content_of
from lnbook.ledger.imports import PACKAGES, file_of, imports_in, parsed
from lnbook.training.errors import CheckpointError
from lnbook.training.sameness import CODE, DATA
from lnbook.training.task import Experiment, Job, Machine

__all__ = ["check_contents", "code_digest", "code_of", "contents", "identity"]

WITHOUT = (
    "lnbook.cli",
    "lnbook.figures",
    "lnbook.ledger",
    *(f"lnbook.data.{name}" for name in ("datasets", "environment", "sources")),
    *(
        f"lnbook.training.{name}"
        for name in ("checkpoint", "errors", "files", "format", "sameness", "signals", "sweeps")
    ),
)
LISTS = {"STUDIES", "__all__"}


def contents(experiment: Experiment, jobs: Iterable[Job], scale: str) -> dict[str, str]:
    """The content of each data set that these runs are meant to read, after a download if need be.

    Told by `lnbook.data.content_of`; raises `DataError` for data that are damaged.
    """
    names = dict.fromkeys(name for job in jobs for name in experiment.data(job, scale))
    return {name: content_of(name) for name in names}


def check_contents(found: Mapping[str, str]) -> None:
    """See that data are still what they were; raises `CheckpointError`, for what was loaded may be either."""
    for name, before in found.items():
        if (now := content_of(name, download=False)) != before:
            raise CheckpointError(
                f"The data set {name} changed while the runs were under way: it was {before!r} and is "
                f"{now!r}. Put it back and go on with --resume."
            )


def identity(
    experiment: Experiment, job: Job, scale: str, machine: Machine, content: Mapping[str, str]
) -> dict[str, Any]:
    """What must be the same when a run goes on: settings, numbers, `data:<name>` and `code:<file>`.

    Data are told by `contents`, a file of code by 12 digits of the SHA-256 of what it computes.
    """
    settings = {**job, "scale": scale, "dtype": str(machine.dtype), "autocast": str(machine.autocast)}
    data = {f"{DATA}{name}": content[name] for name in experiment.data(job, scale)}
    return settings | data | {f"{CODE}{file}": digest for file, digest in code_of(experiment).items()}


def code_digest(run: Mapping[str, Any]) -> str:
    """12 digits that stand for all code of an `identity`."""
    told = sorted((key, digest) for key, digest in run.items() if key.startswith(CODE))
    return _digits(repr(told))


def code_of(experiment: Experiment) -> dict[str, str]:
    """The files that decide an experiment's numbers, each with a digest of what it computes."""
    loop = file_of("lnbook.training.loop")
    assert loop is not None
    own = getattr(sys.modules.get(experiment.task.__module__), "__file__", None)  # a shell's has none
    begin = {loop, *([Path(own).resolve()] if own else [])}
    return dict(sorted((_name(file), _computes(file)) for file in _reached(begin)))


def _reached(todo: set[Path]) -> set[Path]:
    reached: set[Path] = set()
    while todo:
        file = todo.pop()
        if file not in reached:
            reached.add(file)
            todo |= _imported(file)
    return reached


@cache
def _imported(file: Path) -> frozenset[Path]:
    found = imports_in(_tree(file), ".".join(Path(_name(file)).parent.parts))
    return frozenset(path for one in found for path in _defining(one.module, one.name))


def _defining(module: str, name: str) -> Iterator[Path]:
    """The file that defines a name, through the packages that only pass it on."""
    inner = f"{module}.{name}" if name else module
    if any(f"{inner}.".startswith(f"{place}.") for place in WITHOUT):
        return
    if file := file_of(inner) or file_of(module):
        passed = [] if inner == module or file_of(inner) else imports_in(_tree(file), module)
        further = next((one for one in passed if one.bound == name and file.name == "__init__.py"), None)
        if further:
            yield from _defining(further.module, further.name)
        else:
            yield file


def _name(file: Path) -> str:
    """From the folder on that holds the package, so that it is the same everywhere; `/` on every system."""
    places = [place for package, place in PACKAGES.items() if file.is_relative_to(place / package)]
    return file.relative_to(places[0]).as_posix() if places else file.name


@cache
def _tree(file: Path) -> ast.Module:
    return parsed(file.read_text(encoding="utf-8"))


@cache
def _computes(file: Path) -> str:
    return _digits(ast.unparse(_Wordless().visit(parsed(file.read_text(encoding="utf-8")))))


class _Wordless(ast.NodeTransformer):
    """Leaves out what says something and computes nothing, and what only lists runs."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        words = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.Pass() if words else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return ast.Pass() if _listed(node.targets) else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return ast.Pass() if _listed([node.target]) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        words = isinstance(node.func, ast.Name) and node.func.id == "Settings"
        return ast.Constant("settings") if words else self.generic_visit(node)


def _listed(targets: Iterable[ast.expr]) -> bool:
    return any(isinstance(target, ast.Name) and target.id in LISTS for target in targets)


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
