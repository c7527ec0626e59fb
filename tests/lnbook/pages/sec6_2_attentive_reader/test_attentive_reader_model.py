"""The attentive reader against its equations in loops; its masks; what norms change, and what they share."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from questions_drawn import ENTITIES, WORDS, H, texts

from lnbook.pages.sec6_2_attentive_reader.model import NORMS, STARTS, AttentiveReader, attend


def made(norm: str, start: str = "unit", gain: float = 1.0) -> AttentiveReader:
    generator = torch.Generator().manual_seed(0)
    model = AttentiveReader(
        WORDS, ENTITIES, units=H, norm=norm, gain=gain, start=start, longest=9, generator=generator
    )
    return model.double()


# ------------------------------------------------------------------------------- attention


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), huge=st.floats(-1e6, 1e6))
def test_padding_gets_weight_zero_and_has_no_say(seed: int, huge: float) -> None:
    draw = torch.Generator().manual_seed(seed)
    scores, y = torch.randn(3, 6, generator=draw), torch.randn(3, 6, 2, generator=draw)
    real = torch.arange(6) < torch.tensor([6, 1, 4])[:, None]
    r, s = attend(scores, y, real)
    assert not s[~real].any()
    torch.testing.assert_close(s.sum(1), torch.ones(3), atol=1e-6, rtol=0)  # float32
    other = attend(torch.where(real, scores, huge), torch.where(real[..., None], y, huge), real)
    assert torch.equal(other[0], r)
    assert torch.equal(other[1], s)


@pytest.mark.parametrize("norm", NORMS)
def test_the_vector_of_padding_stays_zero(norm: str) -> None:
    model = made(norm)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    scores, _ = model(*texts())
    scores.square().sum().backward()
    optimizer.step()
    assert not model.vectors.weight[0].any()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


# ------------------------------------------------------------------------------- norms


@pytest.mark.parametrize("start", STARTS)
def test_all_norms_start_from_the_same_weights(start: str) -> None:
    models = {norm: dict(made(norm, start).named_parameters()) for norm in NORMS}
    for name, value in models["none"].items():
        for norm in NORMS:
            assert torch.equal(models[norm][name], value), (norm, name)
    added = {norm: set(model) - set(models["none"]) for norm, model in models.items()}
    assert all(
        "gain" in name or "bias" in name or "norms" in name for some in added.values() for name in some
    )
    assert len(added["batch everywhere"]) == len(added["batch"]) + 8


@pytest.mark.parametrize(("start", "size"), STARTS.items())
def test_square_blocks_start_orthogonal_times_a_number(start: str, size: float) -> None:
    for lstm in (made("layer", start).passage, made("layer", start).query):
        weights = dict(lstm.named_parameters())
        for block in (*weights["weight_ih_l0"].split(H), *weights["weight_hh_l0"].split(H)):
            # drawn in float32
            torch.testing.assert_close(
                block @ block.T, size**2 * torch.eye(H, dtype=torch.float64), atol=1e-6, rtol=0
            )


@pytest.mark.parametrize("norm", NORMS[1:])
def test_the_gain_is_that_of_every_normalization(norm: str) -> None:
    model = made(norm, gain=0.1)
    gains = [p for name, p in model.named_parameters() if "gain" in name]
    gains += [p for name, p in model.named_parameters() if name.startswith("norms") and "weight" in name]
    assert len(gains) == (10 if norm == "batch everywhere" else 6)
    assert all((gain - 0.1).abs().max() < 1e-7 for gain in gains)
    shifts = [p for name, p in model.named_parameters() if "bias" in name]
    assert not any(shift.any() for shift in shifts)


def test_batch_norm_everywhere_normalizes_each_term_over_the_words_that_are_there() -> None:
    model = made("batch everywhere")
    seen = {}
    for name, module in model.norms.items():
        module.register_forward_hook(lambda m, args, out, k=name: seen.update({k: (args[0], out)}))
    passages, lengths, *rest = texts()
    model(passages, lengths, *rest)
    assert len(seen["attend_passage"][0]) == int(lengths.sum())
    assert len(seen["attend_query"][0]) == len(passages)
    for _, out in seen.values():
        torch.testing.assert_close(out.mean(0), torch.zeros(H, dtype=out.dtype), atol=1e-12, rtol=0)
