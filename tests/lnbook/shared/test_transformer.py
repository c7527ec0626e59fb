"""The Transformer against torch's own block, and what it must and must not see."""

import pytest
import torch
from torch import nn

from lnbook.shared.transformer import NORMS, Block, Transformer

H, HEADS, T = 12, 3, 7


def model(placement="pre", norm="layer", seed=0, **keywords):
    generator = torch.Generator().manual_seed(seed)
    return Transformer(11, T, H, HEADS, 2, placement, NORMS[norm], generator=generator, **keywords)


def torchs(block):
    """torch's encoder layer with the weights of a block."""
    first = block.placement == "pre"
    layer = nn.TransformerEncoderLayer(
        H, HEADS, 4 * H, dropout=0.0, norm_first=first, batch_first=True
    ).double()
    with torch.no_grad():
        layer.self_attn.in_proj_weight.copy_(block.attention.qkv.weight)
        layer.self_attn.in_proj_bias.zero_()
        layer.self_attn.out_proj.weight.copy_(block.attention.out.weight)
        layer.self_attn.out_proj.bias.zero_()
        layer.linear1.load_state_dict(block.feed[0].state_dict())
        layer.linear2.load_state_dict(block.feed[2].state_dict())
        for norm, ours in zip((layer.norm1, layer.norm2), block.norms, strict=True):
            norm.load_state_dict(ours.state_dict())
    return layer


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_a_block_is_torchs_encoder_layer_with_a_causal_mask(placement):
    torch.manual_seed(0)
    block = Block(H, HEADS, placement, NORMS["layer"]).double()
    x = torch.randn(4, T, H, dtype=torch.float64)
    for p in block.parameters():
        nn.init.normal_(p)
    mask = torch.full((T, T), -torch.inf, dtype=torch.float64).triu(1)
    expected = torchs(block)(x, src_mask=mask)
    torch.testing.assert_close(block(x), expected, rtol=1e-12, atol=1e-12)  # float64, other order of sums


def test_models_that_differ_in_norms_begin_with_the_same_weights():
    states = [dict(model(p, n).named_parameters()) for p, n in (("post", "layer"), ("pre", "rms"))]
    shared = [name for name in states[0] if name in states[1] and "norm" not in name]
    assert len(shared) == 3 + 1 + 2 * 6
    assert all(torch.equal(states[0][name], states[1][name]) for name in shared)
    other = dict(model("post", seed=1).named_parameters())
    assert not torch.equal(states[0]["out.weight"], other["out.weight"])
