"""What a transformation is, and the three ways in which its parameters compose."""

from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["Affine", "Scales", "Shifts", "Transformation", "check_kind", "each_case"]

AffineT = TypeVar("AffineT", bound="Affine")
ScalesT = TypeVar("ScalesT", bound="Scales")
ShiftsT = TypeVar("ShiftsT", bound="Shifts")


class Transformation:
    """A group element that acts on a layer; every action that a subclass leaves out is the identity.

    Subclasses add `inverse()` and `@`: what their group does with their parameters.
    """

    def weights(self, W: Float[Tensor, "H D"]) -> Float[Tensor, "H D"]:
        """The new weights."""
        return W

    def data(self, X: Float[Tensor, "N *space D"]) -> Float[Tensor, "N *space D"]:
        """The new data."""
        return X

    def summed(self, a: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        """The new summed inputs, for what no change of weights or data expresses."""
        return a

    def outputs(self, h: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        """How normalized outputs move along with the transformation, if the layer is *equivariant*.

        The identity here, which makes equivariance and invariance one. A negative scale should flip signs
        and a permutation should permute.
        """
        return h


@dataclass(frozen=True, eq=False)
class Affine(Transformation):
    """A scale and a shift; composed and taken back like affine maps."""

    scale: float = 1.0
    shift: Float[Tensor, " D"] | None = None

    def __post_init__(self) -> None:
        _check_scales(self, torch.tensor([self.scale], dtype=torch.float64))

    def outputs(self, h: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        return h if self.scale > 0 else -h

    def inverse(self: AffineT) -> AffineT:
        return type(self)(1 / self.scale, None if self.shift is None else -self.shift / self.scale)

    def __matmul__(self: AffineT, first: AffineT) -> AffineT:
        check_kind(self, first)
        # d2 (d1 W + 1 c1') + 1 c2' = d2 d1 W + 1 (d2 c1 + c2)'
        shift = self.shift if first.shift is None else self._apply(first.shift)
        return type(self)(self.scale * first.scale, shift)

    def _apply(self, values: Tensor) -> Tensor:
        return self.scale * values if self.shift is None else self.scale * values + self.shift


@dataclass(frozen=True, eq=False)
class Scales(Transformation):
    """One scale each; composed by multiplying."""

    scales: Float[Tensor, " count"]

    def __post_init__(self) -> None:
        _check_scales(self, self.scales)

    def inverse(self: ScalesT) -> ScalesT:
        return type(self)(1 / self.scales)

    def __matmul__(self: ScalesT, first: ScalesT) -> ScalesT:
        check_kind(self, first)
        return type(self)(self.scales * first.scales)


@dataclass(frozen=True, eq=False)
class Shifts(Transformation):
    """One shift each; composed by adding."""

    shift: Float[Tensor, " count"]

    def inverse(self: ShiftsT) -> ShiftsT:
        return type(self)(-self.shift)

    def __matmul__(self: ShiftsT, first: ShiftsT) -> ShiftsT:
        check_kind(self, first)
        return type(self)(self.shift + first.shift)


def each_case(values: Float[Tensor, " N"], like: Float[Tensor, "N *others"]) -> Float[Tensor, "N *ones"]:
    """One number a case, shaped to multiply or to be added to `like`; refuses another count than cases."""
    if len(values) != len(like):
        raise ValueError(f"there are {len(values)} numbers for {len(like)} cases; give one a case")
    return values.view(-1, *[1] * (like.ndim - 1))


def _check_scales(owner: Transformation, scales: Tensor) -> None:
    if not bool((scales.isfinite() & (scales != 0)).all()):
        bad = scales[~scales.isfinite() | (scales == 0)][0].item()
        raise ValueError(
            f"{type(owner).__name__}: a scale must be finite and not 0, which would erase what it scales, "
            f"and it is {bad:g}; invariance is about scales above 0, for example 2.7"
        )


def check_kind(second: Transformation, first: Any) -> None:
    """Refuse to compose by their parameters what acts in different places."""
    if type(first) is not type(second):
        raise TypeError(
            f"{type(second).__name__} @ {type(first).__name__}: only transformations of one kind have a "
            "product of that kind; apply one to the layer, then the other"
        )
