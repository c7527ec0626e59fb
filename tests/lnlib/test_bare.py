"""The library with numpy, torch and jaxtyping alone: it imports, and what needs more says how to get it."""

import subprocess
import sys
from pathlib import Path

import pytest

# What an environment has not that has only the library's own dependencies.
MISSING = ("matplotlib", "numba", "pooch", "scipy", "sklearn", "sympy", "tqdm", "lnbook")
LIBRARY = Path(__file__).resolve().parents[2] / "lnlib"
# These stand on an extra, and are imported when somebody asks for what they do.
ON_EXTRAS = {"kernels", "compiled.py", "symbolic.py"}
WITHOUT = f"import torch, sys\nfor name in {MISSING}: sys.modules[name] = None\n"


def without_extras(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_module_and_name_is_there_and_works_but_those_that_stand_on_an_extra():
    files = [f.relative_to(LIBRARY.parent) for f in sorted(LIBRARY.rglob("*.py"))]
    alone = [f.with_suffix("") for f in files if not ON_EXTRAS & {*f.parts}]
    modules = [".".join(f.parts).removesuffix(".__init__") for f in alone]
    code = (
        "import torch, lnlib\n"
        "x = torch.randn(4, 3)\n"
        "glm = lnlib.GLM('bernoulli', torch.ones(2, 3), torch.zeros(2))\n"
        "print(len([getattr(lnlib, name) for name in lnlib.__all__]) >= 19, "
        "lnlib.layer_norm(x).shape[1], lnlib.LSTM(3, 5)(x[:, None])[0].shape[2], "
        "len(lnlib.fisher.fisher(glm, x)), len(lnlib.invariance.table1()) > 10)\n"
        f"import {', '.join(modules)}"
    )
    assert without_extras(code) == "True 3 5 8 True"


@pytest.mark.parametrize(
    ("call", "extra"),
    [
        ("lnlib.invariance.prove('layer', 'weight matrix re-scaling')", "lnlib[proofs]"),
        ("operator.to_scipy()", "lnlib[scipy]"),
    ],
)
def test_what_needs_more_names_the_extra(call, extra):
    code = (
        "import torch, lnlib\n"
        "glm = lnlib.GLM('bernoulli', torch.ones(1, 1), torch.zeros(1))\n"
        "operator = lnlib.fisher.FisherOperator(glm, torch.ones(1, 1))\n"
        f"try:\n    {call}\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    assert f"pip install '{extra}'" in without_extras(code)
