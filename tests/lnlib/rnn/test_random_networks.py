"""Random calls of the recurrent networks: whatever fits is the loop of its equations."""

from typing import Any

import loops
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence, pad_sequence

import lnlib
from lnlib.rnn.variants import VARIANTS

# At most 5 steps, two layers deep, each dividing by deviations of 0.1 (the root of eps) or more: a few
# thousand roundings of numbers of size 1 to 10.
CLOSE = {torch.float64: 1e-11, torch.float32: 2e-4}
EPS = 0.01


@st.composite
def networks(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A kind of network and its options."""
    kind = draw(st.sampled_from(sorted(VARIANTS)))
    options = {
        "norm": draw(st.sampled_from(["layer", "rms"])),
        "variant": draw(st.sampled_from([name for name in VARIANTS[kind] if name != "released"])),
        "num_layers": draw(st.integers(1, 2)),
        "bidirectional": draw(st.booleans()),
        "batch_first": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "memory": draw(st.sampled_from(["save", "recompute"])),
        "dtype": draw(st.sampled_from([*CLOSE])),
    }
    return kind, options


def expected(module: Any, kind: str, options: dict[str, Any], x: Tensor, hx: list[Tensor]) -> list[Tensor]:
    """Output (T, H) and final states (rows, H) of one sequence, by the loops of the equations."""
    finals, n = [], getattr(loops, options["norm"])(EPS)
    for layer in range(options["num_layers"]):
        sides = []
        for turned in range(1 + options["bidirectional"]):
            suffix = f"_l{layer}" + "_reverse" * turned
            held = {k: p.double() for k, p in module.named_parameters() if k.endswith(suffix)}
            p = {key.removesuffix(suffix): value for key, value in held.items()}
            gates, units = p["weight_ih"][:, 0] * 0, p["weight_hh"][0] * 0
            p = {"bias_ih": gates, "bias_hh": gates, "bias_cell": units} | p
            start = [h[None, len(finals)] for h in hx]
            seen = x.flip(0) if turned else x
            out, *final = loops.LOOPS[kind][options["variant"]](seen[:, None], *start, p, n)
            sides.append(out[:, 0].flip(0) if turned else out[:, 0])
            finals.append(torch.cat(final))
        x = torch.cat(sides, -1)
    return [x, *torch.stack(finals, 1)]


@given(
    network=networks(),
    sizes=st.tuples(st.integers(1, 4), st.integers(2, 5)),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    form=st.sampled_from(["padded", "packed", "alone"]),
    seed=st.integers(0, 999),
)
def test_any_call_that_fits_is_the_loop_of_its_equations(network, sizes, lengths, form, seed) -> None:
    torch.manual_seed(seed)
    kind, options = network
    lengths = [max(lengths)] * len(lengths) if form == "padded" else lengths[: 1 if form == "alone" else None]
    module = getattr(lnlib, kind)(*sizes, eps=EPS, **options)
    for name, value in module.named_parameters():
        nn.init.uniform_(value, 0.5, 1.5) if name.startswith("gain") else nn.init.uniform_(value, -0.5, 0.5)
    module.requires_grad_(False)
    dtype, first, rows = options["dtype"], options["batch_first"], len(module.cells())
    sequences = [torch.randn(length, sizes[0], dtype=dtype) for length in lengths]
    hx = [torch.randn(rows, len(lengths), sizes[1], dtype=dtype) for _ in range(1 + (kind == "LSTM"))]
    x: Any = pad_sequence(sequences, first)
    given = hx
    if form == "packed":
        x = pack_sequence(sequences, enforce_sorted=False)
    if form == "alone":
        x, given = sequences[0], [h[:, 0] for h in hx]
    output, final = module(x, tuple(given) if kind == "LSTM" else given[0])
    final = final if kind == "LSTM" else (final,)
    output = pad_packed_sequence(output, first)[0] if form == "packed" else output
    if form == "alone":
        output, final = output.unsqueeze(0 if first else 1), [s.unsqueeze(1) for s in final]
    for case, sequence in enumerate(sequences):
        wanted = expected(module, kind, options, sequence.double(), [h[:, case].double() for h in hx])
        mine = (output[case] if first else output[:, case])[: len(sequence)]
        for a, b in zip([mine, *(s[:, case] for s in final)], wanted, strict=True):
            torch.testing.assert_close(a, b.to(dtype), rtol=CLOSE[dtype], atol=CLOSE[dtype])
