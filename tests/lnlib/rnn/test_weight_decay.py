"""What weight decay does to a network's parameters, as its docstring tells it."""

import pytest
import torch
from torch import nn

import lnlib
from lnlib.rnn import VARIANTS

CASES = [(kind, {"variant": name}) for kind, rows in VARIANTS.items() for name in rows]
CASES += [(kind, {"norm": norm}) for kind in VARIANTS for norm in ("rms", "weight", "none")]


def shrunk(module: nn.Module, groups: list[dict]) -> set[str]:
    """Names of the parameters that AdamW shrinks though their gradients are 0."""
    with torch.no_grad():
        for p in module.parameters():
            p.fill_(1.0).grad = torch.zeros_like(p)
    torch.optim.AdamW(groups, lr=0.1, weight_decay=0.1).step()
    return {name for name, p in module.named_parameters() if (p < 1).all()}


@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_two_groups_by_the_number_of_axes_decay_the_matrices_alone(
    kind: str, options: dict[str, str]
) -> None:
    module = getattr(lnlib, kind)(3, 4, 2, learn_initial_state=True, **options)
    matrices, others = ([p for p in module.parameters() if (p.ndim > 1) == m] for m in (True, False))
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    names = {name for name, _ in module.named_parameters()}
    assert shrunk(module, groups) == {name for name in names if name.startswith("weight_")}


def test_otherwise_and_by_the_name_of_biases_gains_and_initial_states_decay_too() -> None:
    module = lnlib.LSTM(3, 4, learn_initial_state=True)
    named = dict(module.named_parameters())
    assert shrunk(module, [{"params": list(named.values())}]) == named.keys()
    unbiased = {name: p for name, p in named.items() if "bias" not in name}
    exempt = [{"params": [p for name, p in named.items() if "bias" in name], "weight_decay": 0.0}]
    decayed = shrunk(module, [{"params": list(unbiased.values())}, *exempt])
    assert {"gain_ih_l0", "gain_hh_l0", "gain_cell_l0", "initial_h_l0", "initial_c_l0"} <= decayed
    assert not any("bias" in name for name in decayed)
