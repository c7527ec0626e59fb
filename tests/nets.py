"""Small networks with norms for the tests of their curvature, and their Fisher matrix by brute force."""

import torch
import torch.nn.functional as F
from glms import draw
from torch import Tensor, nn
from torch.func import functional_call, jacrev

import lnlib

CLASSES = 3


class Block(nn.Module):
    """A pre-norm transformer block of one head between an embedding of tokens and a pooled output."""

    def __init__(self, norm: type[nn.Module], eps: float = 0.0) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 6)
        self.norm1, self.norm2, self.norm3 = (norm(6, eps=eps) for _ in range(3))
        self.qkv, self.out = nn.Linear(6, 18), nn.Linear(6, 6)
        self.up, self.down, self.head = nn.Linear(6, 7), nn.Linear(7, 6), nn.Linear(6, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v))
        x = x + self.down(torch.tanh(self.up(self.norm2(x))))
        return self.head(self.norm3(x).mean(1))


def randomized(model: nn.Module, seed: int = 0) -> nn.Module:
    """The model in float64, every parameter drawn: gains of both signs, biases that matter."""
    model = model.double().eval()
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(draw(*p.shape, seed=100 * seed + k) / (p.shape[-1] ** 0.5 if p.ndim > 1 else 1.5))
    return model


def mlp(norm: type[nn.Module], eps: float = 0.0, seed: int = 0) -> tuple[nn.Module, Tensor]:
    """Two hidden layers with a norm each, and seven cases."""
    body = [nn.Linear(4, 6), norm(6, eps=eps), nn.Tanh(), nn.Linear(6, 5), norm(5, eps=eps), nn.Tanh()]
    return randomized(nn.Sequential(*body, nn.Linear(5, CLASSES)), seed), draw(7, 4, seed=seed + 50)


def block(norm: type[nn.Module], eps: float = 0.0, seed: int = 0) -> tuple[nn.Module, Tensor]:
    """A transformer block, and six cases of four tokens."""
    tokens = torch.randint(5, (6, 4), generator=torch.Generator().manual_seed(seed))
    return randomized(Block(norm, eps), seed), tokens


def groups(eps: float = 0.0) -> tuple[nn.Module, Tensor]:
    """A convolution under group norm, and a linear layer under another."""
    body = [nn.Conv2d(2, 4, 3), lnlib.GroupNorm(2, 4, eps), nn.Tanh(), nn.Flatten()]
    head = [nn.Linear(16, 6), nn.GroupNorm(2, 6, eps), nn.Tanh(), nn.Linear(6, CLASSES)]
    return randomized(nn.Sequential(*body, *head)), draw(5, 2, 4, 4, seed=3)


NETS = {
    "mlp, lnlib's layer norm": lambda eps=0.0: mlp(lnlib.LayerNorm, eps),
    "mlp, torch's layer norm": lambda eps=0.0: mlp(nn.LayerNorm, eps),
    "mlp, lnlib's RMS norm": lambda eps=0.0: mlp(lnlib.RMSNorm, eps),
    "mlp, torch's RMS norm": lambda eps=0.0: mlp(nn.RMSNorm, eps),
    "block, lnlib's layer norm": lambda eps=0.0: block(lnlib.LayerNorm, eps),
    "block, torch's layer norm": lambda eps=0.0: block(nn.LayerNorm, eps),
    "block, RMS norm": lambda eps=0.0: block(nn.RMSNorm, eps),
    "group norm": groups,
}


def jacobian(model: nn.Module, X: Tensor) -> dict[str, Tensor]:
    """The derivative of all outputs by each parameter, (N, K, size), case coupling included."""
    values = {name: p.detach() for name, p in model.named_parameters()}
    parts = jacrev(lambda v: functional_call(model, v, (X,)), chunk_size=1)(values)
    return {name: part.flatten(2) for name, part in parts.items()}


def brute_force(model: nn.Module, X: Tensor, C: Tensor, share: Tensor, names: list[str]) -> Tensor:
    """The sum over cases of share J'CJ, as its definition says."""
    parts = jacobian(model, X)
    J = torch.cat([parts[name] for name in names], -1)
    return torch.einsum("n,nip,nij,njq->pq", share, J, C, J)


def softmax_covariance(z: Tensor) -> Tensor:
    """diag(p) - p p' of each case."""
    p = torch.softmax(z.detach(), -1)
    return torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
