"""How kernels are kept on disk, what may go wrong with that, and threads that run them at the same time."""

import importlib.util
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
import pytest

from lnbook.pages.sec6_5_handwriting import kernels as handwriting
from lnlib.rnn.kernels import compiling, gru, lstm

HELPER = "from numba import njit\n\n@njit\ndef f(x):\n    return x + {}\n"
LOOP = """
from helper import f
from lnlib.rnn.kernels.compiling import compiled

@compiled
def loop(a):
    for j in range(a.shape[0]):
        a[j] = f(a[j])
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a loop and its helper, as if it were that of the kernels."""
    (tmp_path / "helper.py").write_text(HELPER.format(1))
    (tmp_path / "loop.py").write_text(LOOP)
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "compiling.py"))
    monkeypatch.setattr(compiling._Kept, "warned", False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def read(room: Path, name: str) -> ModuleType:
    """A module of the folder, as a new process would have it."""
    spec = importlib.util.spec_from_file_location(name, room / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def run(room: Path) -> tuple[float, int]:
    """What a new process computes from 0, and how often it found the code on disk."""
    read(room, "helper")
    try:
        loop, a = read(room, "loop").loop, np.zeros(1)
        loop(a)
        return float(a[0]), sum(loop.stats.cache_hits.values())
    finally:
        del sys.modules["helper"], sys.modules["loop"]


@contextmanager
def full_disk() -> Iterator[None]:
    """Files may be created, but not one byte written: what a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_was_compiled_is_found_again(room: Path) -> None:
    assert run(room) == (1.0, 0)
    assert run(room) == (1.0, 1)


def test_a_changed_helper_is_compiled_even_if_the_file_of_the_loop_stayed(room: Path) -> None:
    run(room)
    helper = room / "helper.py"
    later = helper.stat().st_mtime + 10  # Python itself takes a file of this size and second for the old one
    helper.write_text(HELPER.format(2))
    os.utime(helper, (later, later))
    assert run(room) == (2.0, 0)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_file_that_was_cut_off_is_written_again(room: Path, suffix: str) -> None:
    run(room)
    (file,) = (room / "cache").rglob(f"*.{suffix}")
    file.write_bytes(file.read_bytes()[:-10])
    assert run(room) == (1.0, 0)
    assert run(room) == (1.0, 1)


def test_on_a_full_disk_kernels_run_and_one_warning_says_so(room: Path) -> None:
    with full_disk(), pytest.warns(RuntimeWarning, match="cannot be kept in .*make room"):
        assert run(room) == (1.0, 0)
    with full_disk():  # a second warning would be an error
        assert run(room) == (1.0, 0)


def test_without_a_folder_that_may_be_written_kernels_run(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    for name in ("__pycache__", "home"):  # files where numba would make folders
        (room / name).write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(room / "home"))
    assert run(room) == (1.0, 0)


@pytest.mark.parametrize("module", [lstm, gru, handwriting], ids=lambda m: m.__name__)
def test_every_kernel_is_kept_under_a_digest_of_all_its_code(module: ModuleType) -> None:
    digest = compiling._digest(Path(module.__file__))
    assert digest != compiling._digest(Path(__file__))
    for kernel in np.ravel([module.forward, module.backward]):
        assert kernel.__name__.endswith(digest)


THREADS = """
import threading

import numba
import torch

import lnlib

torch.set_num_threads(2)
networks = [lnlib.LSTM(3, 16) for _ in range(4)]
x = torch.randn(50, 4, 3)

def work(network):
    for _ in range(20):
        network(x)[0].sum().backward()

threads = [threading.Thread(target=work, args=(network,)) for network in networks]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(numba.threading_layer())
"""


def test_threads_may_share_numbas_pool_that_is_not_made_for_it() -> None:
    environment = os.environ | {"NUMBA_THREADING_LAYER": "workqueue"}
    done = subprocess.run(
        [sys.executable, "-c", THREADS], env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "workqueue\n"), done.stderr
