"""Away from here: traces, torch.compile, and ONNX run by onnxruntime."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
import torch
from networks import states
from torch import Tensor, nn
from torch.testing import assert_close

import lnlib

as_users_call = pytest.mark.usefixtures("as_users_call")


def trained(kind: str, **options: Any) -> Any:
    """A network that has seen a batch, in evaluation."""
    torch.manual_seed(0)
    module = getattr(lnlib, kind)(3, 4, **options)
    module(torch.randn(4, 8, 3))
    return module.eval()


# torch's notice that it deprecates tracing, and what it says of every loop and every check of a shape
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore::torch.jit.TracerWarning")
@as_users_call
@pytest.mark.parametrize(
    ("kind", "options"), [("LSTM", {}), ("GRU", {"norm": "batch", "max_steps": 3})], ids=str
)
def test_a_network_is_traced_for_a_length(kind: str, options: dict) -> None:
    module, x = trained(kind, **options), torch.randn(5, 2, 3)
    traced = torch.jit.trace(module, x)
    assert_close(traced(2 * x)[0], module(2 * x)[0], rtol=1e-4, atol=1e-5)  # float32, in another order


@as_users_call
@pytest.mark.parametrize("norm", ["layer", "none"])
def test_torch_compile_leaves_a_network_of_any_length_out_of_its_graphs(norm: str) -> None:
    graphs: list[int] = []

    def counting(graph: torch.fx.GraphModule, inputs: list) -> Callable:
        graphs.append(len(graph.graph.nodes))
        return graph.forward

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.into, self.out = nn.Linear(3, 4), nn.Linear(5, 2)
            self.network = lnlib.LSTM(4, 5, norm=norm)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.out(self.network(self.into(x))[0])
            return y

    torch.compiler.reset()
    model, found = Model(), []
    compiled = torch.compile(model, backend=counting, dynamic=True)
    for steps in (30, 40):
        x = torch.randn(steps, 2, 3)
        for run in (compiled, model):
            model.zero_grad()
            run(x).square().sum().backward()
            found.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        assert_close(found[-2], found[-1])
        assert sum(graphs) < 20, "a step of the loop would be some nodes"


@pytest.mark.slow
@as_users_call
# torch's exporter copies a tree by a class that torch deprecates
@pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.* is deprecated:FutureWarning")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("RNN", {"norm": "batch", "max_steps": 2}),
        ("LSTM", {"bidirectional": True, "num_layers": 2, "proj_size": 2}),
        ("GRU", {"norm": "rms", "zoneout": 0.2}),
    ],
    ids=str,
)
def test_an_exported_network_takes_any_batch(kind: str, options: dict, tmp_path: Path) -> None:
    module, path = trained(kind, **options), tmp_path / "network.onnx"
    shapes = {"input": {1: torch.export.Dim("N")}}
    example = (torch.randn(3, 2, 3),)
    torch.onnx.export(
        module, example, path, opset_version=18, dynamo=True, verbose=False, dynamic_shapes=shapes
    )
    assert [opset.version for opset in onnx.load(path).opset_import if not opset.domain] == [18]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for cases in (1, 2, 5):
        x = torch.randn(3, cases, 3)
        output, state = module(x)
        results = session.run(None, {"input": x.numpy()})
        # float32, in another order: a few dozen roundings of numbers of size 1 to 10
        for ours, theirs in zip((output, *states(state)), results, strict=True):
            assert_close(ours.detach(), torch.from_numpy(theirs), rtol=1e-5, atol=1e-5)
