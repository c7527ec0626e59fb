"""The paper's experiments by section: where `python -m lnbook run` looks."""

from importlib import import_module

from lnbook.training.task import Experiment

EXPERIMENTS = {
    "6.1": "order_embedding",
    "6.2": "attentive_reader",
    "6.3": "skip_thoughts",
    "6.4": "draw",
    "6.5": "handwriting",
    "6.6": "permutation_mnist",
    "6.7": "convnet",
}
MODULES = {
    "order_embedding": "pages.sec6_1_order_embeddings.experiment",
    "attentive_reader": "pages.sec6_2_attentive_reader.experiment",
    "skip_thoughts": "pages.sec6_3_skip_thoughts.experiment",
    "draw": "pages.sec6_4_draw.experiment",
    "draw_early": "pages.sec6_4_draw.experiment",
    "handwriting": "pages.sec6_5_handwriting.experiment",
    "handwriting_sizes": "pages.sec6_5_handwriting.experiment",
    "permutation_mnist": "shared.permutation_mnist",
    "permutation_mnist_right": "shared.permutation_mnist",
    "convnet": "pages.sec6_7_convnets.experiment",
    "convnet_own": "pages.sec6_7_convnets.experiment",
    "convnet_own_ten": "pages.sec6_7_convnets.experiment",
}


def find(name: str) -> Experiment:
    """The experiment of a section or of a name; raises ValueError, with what there is, for any other."""
    known = EXPERIMENTS.get(name, name)
    if known not in MODULES:
        listed = ", ".join(f"{section} ({module})" for section, module in EXPERIMENTS.items())
        raise ValueError(f"There is no experiment {name!r}; there are {listed}.")
    module = import_module(f"lnbook.{MODULES[known]}")
    return next(e for e in vars(module).values() if isinstance(e, Experiment) and e.name == known)
