"""The notation page's tables: symbols and equations, with shapes, functions and tests read off the code."""

import ast
import importlib
import inspect
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
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

    Raises:
        LookupError: for a name or an argument that does not exist.
    """
    path, _, argument = name.partition(":")
    target, rest = _found(path)
    if rest:  # a parameter of a recurrent layer: there once the layer is made
        parameters = target(INPUTS, UNITS).state_dict()
        if rest not in parameters:
            raise LookupError(f"notation.toml names {path}, and {target.__name__} has no parameter {rest!r}")
        sizes = [SIZES[size] for size in parameters[rest].shape]
        return Place(path.removesuffix(f".{rest}"), rest, _tuple(sizes))
    called = target.__init__ if inspect.isclass(target) else target
    hints = typing.get_type_hints(called) if inspect.isroutine(called) else {}
    if argument and argument not in inspect.signature(called).parameters:
        raise LookupError(f"notation.toml names {name}, and {path} has no argument {argument!r}")
    return Place(path, argument, shape(hints.get(argument or "return")))


def _found(path: str) -> tuple[Any, str]:
    """What a dotted name stands for, and the last part of the name if a module of torch makes it later."""
    parts = path.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            target = importlib.import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        for k, part in enumerate(parts[depth:], start=depth + 1):
            if not hasattr(target, part):
                if k == len(parts) and inspect.isclass(target) and issubclass(target, nn.Module):
                    return target, part
                raise LookupError(f"notation.toml names {path}, and lnlib has no {'.'.join(parts[:k])}")
            target = getattr(target, part)
        return target, ""
    raise LookupError(f"notation.toml names {path}, and there is no such module")


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


@cache
def tests_of(function: str) -> tuple[tuple[str, str], ...]:
    """The tests of a literal equation: (file, name) of every test whose body names the function.

    >>> ("test_equations.py", "test_eq2_is_eq3_of_each_column") in tests_of("eq2")
    True
    """
    return tuple((file, name) for file, name, words in _tests() if function in words)


@cache
def _tests() -> list[tuple[str, str, set[str]]]:
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
            found.append((file.name, name, known))
    return found


def _words(function: ast.FunctionDef) -> set[str]:
    every = list(ast.walk(function))
    return {n.attr for n in every if isinstance(n, ast.Attribute)} | {
        n.id for n in every if isinstance(n, ast.Name)
    }


def in_words(test: str) -> str:
    """A test's name as the sentence that it is."""
    return test.removeprefix("test_").replace("_", " ")


def number(function: str) -> str:
    """The paper's number of a literal equation: "14" of `eq14_batch`."""
    return re.match(r"eq(\d+)", function)[1]


def symbol_rows() -> Iterator[list[str]]:
    """One row a symbol: the symbol, its first place in the paper, its meaning, names and shapes in code."""
    for symbol in tomllib.loads(SYMBOLS.read_text(encoding="utf-8"))["symbol"]:
        printed = [place(name) for name in symbol.get("print", [])]
        places = [
            _in_code(p, symbol.get("shape")) for p in printed + [place(n) for n in symbol.get("use", [])]
        ]
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
        tests = "<br>".join(f"• {in_words(test)}" for _, test in tests_of(name))
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
