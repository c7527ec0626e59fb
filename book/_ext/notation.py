"""The notation page's table of equations: functions, shapes and tests, read off the code."""

import ast
import re
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from execute import ROOT
from lnlib import equations


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


def equation_rows() -> Iterator[list[str]]:
    """One row a literal function: its equation, its arguments with shapes, its result, its tests."""
    for name in equations.__all__:
        function = getattr(equations, name)
        hints = typing.get_type_hints(function)
        result = shape(hints.pop("return"))
        arguments = [f"`{argument}` {shape(hint)}".strip() for argument, hint in hints.items()]
        tests = "<br>".join(f"• {test}" for test in tests_of(name))
        yield [f"{{eq}}`eq-{number(name)}`", f"`{name}`", ", ".join(arguments), result, tests]


class EquationsDirective(SphinxDirective):
    """`{equations}`: the literal functions of the numbered equations, read off the code."""

    def run(self) -> list[nodes.Node]:
        for file in (ROOT / "lnlib" / "equations").glob("*.py"):
            self.env.note_dependency(str(file))
        head = ["equation", "function", "arguments", "result", "tests"]
        lines = [head, ["---"] * len(head), *equation_rows()]
        return self.parse_text_to_nodes("\n".join(f"| {' | '.join(line)} |" for line in lines))
