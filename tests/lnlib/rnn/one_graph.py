"""Compile a network in one graph and hold it to itself, uncompiled: run apart from the tests.

Their checks of shapes and types wrap every dataclass, which torch.compile cannot follow.
"""

import copy
import json
import sys
from typing import Any

import torch
from torch.testing import assert_close

import lnlib


def compare(kind: str, options: dict[str, Any]) -> None:
    """One step of training: output, gradients and statistics."""
    torch.manual_seed(0)
    module, x = getattr(lnlib, kind)(3, 4, **options), torch.randn(2, 3, 3)
    compiled = torch.compile(copy.deepcopy(module), fullgraph=True, backend="aot_eager", dynamic=False)
    with torch._dynamo.config.patch(allow_rnn=True):  # torch's own switch for torch.nn's networks
        outputs = [m(x)[0] for m in (module, compiled)]
    for output in outputs:
        output.square().sum().backward()
    # float32, in another order: a few dozen roundings of numbers of size 1 to 10
    close = {"rtol": 1e-4, "atol": 1e-4}
    assert_close(*outputs, **close)
    for ours, theirs in zip(compiled._orig_mod.parameters(), module.parameters(), strict=True):
        assert_close(ours.grad, theirs.grad, **close)
    assert_close(dict(compiled._orig_mod.named_buffers()), dict(module.named_buffers()), **close)


if __name__ == "__main__":
    torch.set_num_threads(1)
    compare(sys.argv[1], json.loads(sys.argv[2]))
    print("equal")
