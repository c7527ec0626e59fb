"""The notation page's tables: symbols and equations, with shapes, functions and tests read off the code."""

import ast
import inspect
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pkgutil import resolve_name
from typing import Any, NamedTuple

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective
from torch import nn

from execute import BOOK, ROOT
from lnlib import equations

SYMBOLS = BOOK / "notation.toml"
# A recurrent layer of these sizes tells what the shapes of its parameters are made of.
INPUTS, UNITS = 5, 7
SIZES = {INPUTS: "D", UNITS: "H", 3 * UNITS: "3H", 4 * UNITS: "4H"}


class Place(NamedTuple):
    """Where the code has a symbol: `function:argument`, or `function` for its result, or an attribute."""

    name: str  # as written
    letter: str  # what code calls it; "" for a result
    shape: str  # "" where the code does not say


def place(name: str) -> Place:
    """Look a place up.

    >>> place("lnlib.equations.eq1:W")
    Place(name='lnlib.equations.eq1', letter='W', shape='(H, D)')
    """
    path, _, argument = name.partition(":")
    owner, _, parameter = path.rpartition(".")
    layer = resolve_name(owner)
    if inspect.isclass(layer) and issubclass(layer, nn.Module) and not hasattr(layer, parameter):
        sizes = layer(INPUTS, UNITS).state_dict()[parameter].shape  # there once the layer is made
        return Place(owner, parameter, _tuple([SIZES[size] for size in sizes]))
    target = resolve_name(path)
    called = target.__init__ if inspect.isclass(target) else target
    hints = typing.get_type_hints(called) if inspect.isroutine(called) else {}
    if argument:
        inspect.signature(called).parameters[argument]  # a KeyError if there is none
    return Place(path, argument, shape(hints.get(argument or "return")))


def shape(hint: Any) -> str:
    """A type's shape as the book writes it.

    >>> from jaxtyping import Float
    >>> from torch import Tensor
    >>> shape(Float[Tensor, "*batch H"] | None), shape(float), shape(Float[Tensor, ""])
    ('(..., H)', 'scalar', 'scalar')
    """
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        shapes = [shape(option) for option in typing.get_args(hint) if option is not type(None)]
        return " or ".join(dict.fromkeys(filter(None, shapes)))
    if typing.get_origin(hint) is tuple:
        return ", ".join(dict.fromkeys(filter(None, map(shape, typing.get_args(hint)))))
    if typing.get_origin(hint) is Callable or hint is Callable:
        return "function"
    if hint is bool:
        return "flag"
    if hint in (float, int):
        return "scalar"
    dims = getattr(hint, "dim_str", None)
    if dims is None:
        return ""
    return _tuple([re.sub(r"^(\.\.\.|\*\w+)$", "...", dim.lstrip("#")) for dim in dims.split()])


def _tuple(sizes: list[str]) -> str:
    if not sizes:
        return "scalar"
    return f"({sizes[0]},)" if len(sizes) == 1 and sizes != ["..."] else f"({', '.join(sizes)})"


def tests_of(function: str) -> list[str]:
    """The tests of a literal equation, as sentences.

    >>> "eq2 is eq3 of each column" in tests_of("eq2")
    True
    """
    return [name.removeprefix("test_").replace("_", " ") for name, words in _tests() if function in words]


@cache
def _tests() -> list[tuple[str, set[str]]]:
    """Every test of the equations with the names in its body, and in the helpers that it calls."""
    found = []
    for file in sorted((ROOT / "tests" / "lnlib" / "equations").glob("test_equations*.py")):
        every = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        words = {n.name: _words(n) for n in every if isinstance(n, ast.FunctionDef)}
        for name in (name for name in words if name.startswith("test_")):
            known, more = set(), words[name]
            while more:
                known |= more
                more = set().union(*(words[helper] for helper in more & words.keys())) - known
            found.append((name, known))
    return found


def _words(function: ast.FunctionDef) -> set[str]:
    every = list(ast.walk(function))
    return {n.attr for n in every if isinstance(n, ast.Attribute)} | {
        n.id for n in every if isinstance(n, ast.Name)
    }


def number(function: str) -> str:
    """The paper's number of a literal equation: "14" of `eq14_batch`."""
    return re.match(r"eq(\d+)", function)[1]


def symbol_rows() -> Iterator[list[str]]:
    """One row a symbol: the symbol, its first place in the paper, its meaning, names and shapes in code."""
    for symbol in tomllib.loads(SYMBOLS.read_text(encoding="utf-8"))["symbol"]:
        printed = [place(name) for name in symbol.get("print", [])]
        used = [place(name) for name in symbol.get("use", [])]
        places = [_in_code(where, symbol.get("shape")) for where in printed + used]
        first = printed[0].name.rpartition(".")[2] if printed else ""
        yield [
            symbol["tex"],
            symbol.get("first") or f"{{eq}}`eq-{number(first)}`",
            symbol["meaning"],
            "<br>".join(places),
        ]


def _in_code(where: Place, given: str | None) -> str:
    name = f"`{where.name.removeprefix('lnlib.equations.')}`"
    size = where.shape if given is None else given
    return (f"`{where.letter}` of {name}" if where.letter else name) + (f" {size}" if size else "")


def equation_rows() -> Iterator[list[str]]:
    """One row a literal function: its equation, its arguments with shapes, its result, its tests."""
    for name in equations.__all__:
        function = getattr(equations, name)
        hints = typing.get_type_hints(function)
        result = shape(hints.pop("return"))
        arguments = [f"`{argument}` {shape(hint)}".strip() for argument, hint in hints.items()]
        tests = "<br>".join(f"• {test}" for test in tests_of(name))
        yield [f"{{eq}}`eq-{number(name)}`", f"`{name}`", ", ".join(arguments), result, tests]


class NotationDirective(SphinxDirective):
    """`{notation}`: the symbols; `:equations:` shows the literal equations instead."""

    option_spec: typing.ClassVar = {"equations": directives.flag}

    def run(self) -> list[nodes.Node]:
        if "equations" in self.options:
            head, rows = ["equation", "function", "arguments", "result", "tests"], equation_rows()
        else:
            head, rows = ["paper", "first in", "meaning", "code and shape"], symbol_rows()
        for file in (SYMBOLS, *(ROOT / "lnlib" / "equations").glob("*.py")):
            self.env.note_dependency(str(file))
        lines = [head, ["---"] * len(head), *rows]
        parsed = self.parse_text_to_nodes("\n".join(f"| {' | '.join(line)} |" for line in lines))
        for table in (table for node in parsed for table in node.findall(nodes.table)):
            table["classes"].append("notation")
        return parsed
