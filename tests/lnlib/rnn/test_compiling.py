"""How kernels are kept on disk, and threads that run them at the same time."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from lnbook.pages.sec6_5_handwriting import kernels as handwriting
from lnlib.rnn.kernels import compiling, sequence


@pytest.mark.parametrize("module", [sequence, handwriting], ids=lambda m: m.__name__)
def test_every_kernel_is_kept_under_a_digest_of_all_its_code(module: ModuleType) -> None:
    """Numba looks for changes in the file of the loop alone, not in those of what it calls."""
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
x, found = torch.randn(50, 4, 3), [None] * 4
expected = [network(x)[0] for network in networks]

def work(k):
    for _ in range(20):
        found[k] = networks[k](x)[0]
        found[k].sum().backward()

threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(numba.threading_layer(), all(map(torch.equal, found, expected)))
"""


def test_threads_may_share_numbas_pool_that_is_not_made_for_it() -> None:
    environment = os.environ | {"NUMBA_THREADING_LAYER": "workqueue"}
    done = subprocess.run(
        [sys.executable, "-c", THREADS], env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "workqueue True\n"), done.stderr
