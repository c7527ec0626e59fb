"""What every test runs under: checked shapes and types, and the same random draws each time."""

from collections.abc import Iterator

import jaxtyping
import pytest
from hypothesis import settings

# Before anything imports lnlib: every annotated argument and result is checked while the tests run.
jaxtyping.install_import_hook("lnlib", "checked.checked")

settings.register_profile("book", derandomize=True, deadline=None, database=None)
settings.load_profile("book")


@pytest.fixture
def as_users_call() -> Iterator[None]:
    """Without the checker, which would refuse wrong arguments first and cannot be compiled."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
