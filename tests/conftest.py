"""What every test runs under: checked shapes and types, and the same random draws each time."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import jaxtyping
import pytest
from browser import Chromium, launch
from hypothesis import settings

# With --slow every annotated argument and result is checked while the tests run. Not so the kernels: numba
# compiles functions, not wrappers of them.
ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (ROOT / "lnlib", ROOT / "book" / "lnbook")
FILES = [f.relative_to(p.parent).with_suffix("").parts for p in PACKAGES for f in sorted(p.rglob("*.py"))]
MODULES = [".".join(parts) for parts in FILES if "kernels" not in parts and parts[-1] != "__init__"]

# The extra `peers`, which `make` installs and an environment of conda has not.
PEERS = ("curvlinops", "nngeometry", "laplace", "jax")
collect_ignore = (
    []
    if all(map(find_spec, PEERS))
    else [f"benchmarks/test_{what}.py" for what in ("fisher_peers", "recurrent_peers")]
)

# What a change needs to know, and, with --slow, all of it.
for profile, examples in (("quick", 25), ("slow", 100)):
    settings.register_profile(profile, derandomize=True, deadline=None, database=None, max_examples=examples)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--slow`, which `make test` gives where CI is set."""
    parser.addoption(
        "--slow",
        action="store_true",
        help="also what is marked slow, the whole of each grid, four times the examples, and the type of "
        "every argument",
    )


def pytest_configure(config: pytest.Config) -> None:
    slow = config.getoption("--slow")
    settings.load_profile("slow" if slow else "quick")
    if slow:  # before anything imports ours
        jaxtyping.install_import_hook(MODULES, "checked.checked")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The notebooks first, then the pages that are made of them: whatever waits for them, waits least.

    Of the pages the slow ones first, the PDF: what is last goes to the worker that has nothing left to do,
    and the PDF is printed by each that has a test of it.
    """
    if not config.getoption("--slow"):
        config.hook.pytest_deselected(items=list(filter(left_for_slow, items)))
        items[:] = [item for item in items if not left_for_slow(item)]
    kinds = ("notebook", "pages", "browser")

    def place(item: pytest.Item) -> tuple[int, bool]:
        kind = next((n for n, k in enumerate(kinds) if item.get_closest_marker(k)), len(kinds))
        return kind, kind < len(kinds) and not item.get_closest_marker("slow")

    items.sort(key=place)


def left_for_slow(item: pytest.Item) -> bool:
    """A slow test, and two of three cases of a grid of three axes or more: few errors need a third value."""
    if item.get_closest_marker("slow"):
        return True
    indices = getattr(getattr(item, "callspec", None), "indices", {})
    return bool(item.get_closest_marker("grid") and len(indices) > 2 and sum(indices.values()) % 3)


@pytest.fixture
def as_users_call() -> Iterator[None]:
    """Without the checker, which would refuse wrong arguments first and cannot be compiled."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """A browser for the tests of one module."""
    with launch() as running:
        yield running
