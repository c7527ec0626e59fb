"""Networks that take noise off digits: the noise, what they compute, each as if it were alone."""

import numpy as np
import torch

from lnbook.pages.beyond_timeline import denoising
from lnbook.pages.beyond_timeline.denoising import Size

SIZE = Size(2, 8, 6, batch=16)
MAPS = ("to_gain",)


def block(x, c, p):
    return x + (((1 + c @ p["to_gain"].mT) * x) @ p["W1"]).relu() @ p["W2"]


def trained(seeds, rates=(1e-2,), size=SIZE):
    return denoising.train(block, MAPS, told=True, seeds=seeds, rates=rates, size=size)


def test_networks_compute_what_a_loop_computes():
    p = denoising.begin(SIZE, MAPS, 3, (4, 5), 6)
    p = {name: value + 0.1 for name, value in p.items()}  # nothing is 0
    z, c = torch.randn(2, 7, 6), torch.randn(2, 7, 3)
    found = denoising.run(block, p, z, c)
    for s in range(2):
        x = z[s] @ p["into"][s]
        for k in range(2):
            u = (1 + c[s] @ p[f"{k}.to_gain"][s].T) * x
            x = x + (u @ p[f"{k}.W1"][s]).relu() @ p[f"{k}.W2"][s]
        torch.testing.assert_close(found[s], x @ p["out"][s], rtol=1e-4, atol=1e-4)  # float32


def test_a_network_trains_in_company_as_alone():
    together, alone = trained((4, 5), (1e-3, 1e-2)), trained((5,))
    # float32 sums in another order, through 6 steps of Adam
    np.testing.assert_allclose(together[1, 1], alone[0, 0], rtol=1e-3)
