"""The commands of `python -m lnbook`, a module each, and the experiments that `run` knows."""
