"""The paper's experiments by section: where `python -m lnlib run` looks."""

from importlib import import_module

from lnlib.training.task import Experiment

__all__ = ["EXPERIMENTS", "find"]

EXPERIMENTS = {
    "6.1": "order_embedding",
    "6.2": "attentive_reader",
    "6.3": "skip_thoughts",
    "6.4": "draw",
    "6.5": "handwriting",
    "6.6": "permutation_mnist",
    "6.7": "convnet",
}


def find(name: str) -> Experiment:
    """The experiment of a section or of a name.

    Raises ValueError, with what there is, for any other.

    >>> find("6.6").name
    'permutation_mnist'
    """
    known = EXPERIMENTS.get(name, name)
    if known not in EXPERIMENTS.values():
        listed = ", ".join(f"{section} ({module})" for section, module in EXPERIMENTS.items())
        raise ValueError(f"There is no experiment {name!r}; there are {listed}.")
    found: Experiment = import_module(f"lnlib.experiments.{known}.experiment").EXPERIMENT
    return found
