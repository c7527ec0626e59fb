r"""Two small networks on the same pictures, to compare what their hidden units contribute.

*Source* Section 6.7, third and fourth sentences: the units of a fully connected layer make similar
contributions, those of a ConvNet do not. Sizes and lengths are ours. Neither network has a norm: alike
contributions are what a layer norm supposes.
"""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from lnbook.data import Images
from lnbook.pages.sec6_7_convnets import experiment as convnet
from lnbook.pages.sec6_7_convnets.model import ConvNet
from lnbook.shared import permutation_mnist
from lnbook.training import Machine, train

HIDDEN = (256, 256)  # units of the fully connected network
SEEDS = {"smoke": 2, "book": 5, "study": 5}
UPDATES = {"smoke": 20, "book": 60, "study": 1718}
CASES = {"smoke": 100, "book": 500, "study": 1000}  # of the test cases, to measure contributions on


def trained(images: Images, scale: str, seed: int) -> dict[str, nn.Module]:
    """A fully connected network and a ConvNet after so many updates with the same step and batch size.

    The seed fixes each one's initial weights and the order of the cases.
    """
    both: dict[str, Any] = {"norm": "none", "rate": convnet.RATE, "seed": seed, "rows": 1}
    length: dict[str, Any] = {"updates": UPDATES[scale], "quick": 100}
    flat = {"batch_size": convnet.BATCH, "whole": False, **both, **length}
    wide = permutation_mnist.Classification(images, HIDDEN, Machine(), **flat)
    job = {"padding": "zeros", "pictures": "centered", **both}
    layers = convnet.layers_of(scale, images)
    local = convnet.Classification(images, *layers, Machine(), job, last=100, **length)
    tasks = {"fully connected": wide, "convolutional": local}
    for task in tasks.values():
        train(task)
    return {name: task.model.eval() for name, task in tasks.items()}


def with_inputs_of_relus(
    network: nn.Module, x: Float[Tensor, "N h w"]
) -> tuple[Float[Tensor, "N K"], list[Tensor]]:
    """The logits of a `ConvNet` or a chain of layers, and what the ReLU of each hidden layer receives."""
    if isinstance(network, ConvNet):
        received = [z for _, z in network.layers(x[:, None])]
        return network.head(received[-1].relu().flatten(1)), received
    assert isinstance(network, nn.Sequential)
    a, received = x.flatten(1), []
    for layer in network:
        received += [a] if isinstance(layer, nn.ReLU) else []
        a = layer(a)
    return a, received
