"""What hidden units contribute: against removing each one."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lnbook.data import load
from lnbook.pages.sec6_7_convnets.experiment import contributing
from lnbook.pages.sec6_7_convnets.model import ConvNet, with_inputs_of_relus
from lnbook.training import generators


@pytest.fixture(scope="module")
def networks() -> dict[str, nn.Module]:
    return contributing(load("digits"), "smoke", seed=0)


@pytest.mark.parametrize("kind", ["fully connected", "convolutional"])
def test_the_logits_are_those_of_the_network(networks: dict[str, nn.Module], kind: str) -> None:
    x = torch.rand(3, 8, 8, generator=generators(0)[0])
    network = networks[kind]
    logits, received = with_inputs_of_relus(network, x)
    whole = network(x[:, None] if isinstance(network, ConvNet) else x.flatten(1))
    torch.testing.assert_close(logits, whole)
    assert len(received) == (3 if isinstance(network, ConvNet) else 2)


def test_the_input_of_a_relu_gives_the_first_order_effect_of_removing_its_output() -> None:
    weights = generators(1)[0]
    first, second = (torch.randn(*s, generator=weights, dtype=torch.float64) for s in ((3, 4), (2, 3)))
    chain = nn.Sequential(nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 2, bias=False)).double()
    with torch.no_grad():
        chain[0].weight.copy_(first)
        chain[2].weight.copy_(second)
    x, y = torch.rand(6, 2, 2, generator=weights, dtype=torch.float64), torch.arange(6) % 2
    logits, (z,) = with_inputs_of_relus(chain, x)
    (slope,) = torch.autograd.grad(cross_entropy(logits, y, reduction="sum"), z)
    kept = torch.ones(6, 3, dtype=torch.float64, requires_grad=True)  # of each case's units
    loss = cross_entropy(((x.flatten(1) @ first.T).relu() * kept) @ second.T, y, reduction="sum")
    torch.testing.assert_close((z * slope).detach(), torch.autograd.grad(loss, kept)[0])
