r"""A symmetric matrix that is known by its products: what all operators share, and what SciPy needs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

__all__ = ["MatrixFree", "Products"]


class MatrixFree(ABC):
    r"""A symmetric (P, P) matrix by its products $v \mapsto Fv$; subclasses say how to multiply columns."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(P, P)."""

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype:
        """The parameters' type."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where the parameters are."""

    @abstractmethod
    def matmat(self, V: Float[Tensor, "P K"]) -> Float[Tensor, "P K"]:
        """F V, column by column."""

    def matvec(self, v: Float[Tensor, " P"]) -> Float[Tensor, " P"]:
        """F v."""
        return self.matmat(v[:, None])[:, 0]

    def __matmul__(self, v: Float[Tensor, "P *K"]) -> Float[Tensor, "P *K"]:
        """F v for one vector, or for the columns of a matrix.

        Raises:
            TypeError: a vector of another type.
            ValueError: a vector of another length.
        """
        self.check_vector(v)
        return self.matvec(v) if v.ndim == 1 else self.matmat(v)

    def to_dense(self) -> Float[Tensor, "P P"]:
        """The matrix itself."""
        F = self.matmat(torch.eye(self.shape[0], dtype=self.dtype, device=self.device))
        return (F + F.mT) / 2

    def check_vector(self, v: Tensor, most: int = 2) -> None:
        """Refuse what is no tensor of the model's type and size."""
        P = self.shape[0]
        if not isinstance(v, Tensor) or v.dtype != self.dtype:
            found = v.dtype if isinstance(v, Tensor) else type(v).__name__
            raise TypeError(
                f"give {self.dtype} tensors, not {found}; convert it, or use to_scipy() with NumPy"
            )
        if not 1 <= v.ndim <= most or len(v) != P:
            shapes = f"({P},)" + f" or ({P}, K)" * (most - 1)
            raise ValueError(
                f"the shape is {tuple(v.shape)}, and the model's P = {P} parameters make it {shapes}"
            )

    def to_scipy(self) -> "LinearOperator":
        """A `scipy.sparse.linalg.LinearOperator` on NumPy vectors: for `eigsh`, `cg`, `svds`."""
        try:
            from scipy.sparse.linalg import LinearOperator
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "to_scipy needs scipy: pip install 'lnlib[scipy]'", name="scipy"
            ) from error

        def product(v):  # type: ignore[no-untyped-def]
            if np.iscomplexobj(v):
                raise TypeError(f"F is real and the vector {v.dtype}; multiply its real and imaginary part")
            own = np.array(v, order="C")  # torch takes neither read-only nor reversed arrays
            return (self @ torch.from_numpy(own).to(self.device, self.dtype)).cpu().numpy()

        dtype = torch.empty(0, dtype=self.dtype).numpy().dtype
        return LinearOperator(self.shape, matvec=product, rmatvec=product, matmat=product, dtype=dtype)


class Products(MatrixFree):
    r"""The operator that a function of columns is.

    Args:
        columns: $V \mapsto FV$ for (P, K), F symmetric.
        like: any tensor of the type and on the device of the parameters.
        size: P.

    >>> twice = Products(lambda V: 2 * V, torch.empty(0), 3)
    >>> twice @ torch.tensor([1.0, 2.0, 3.0])
    tensor([2., 4., 6.])
    """

    def __init__(self, columns: Callable[[Tensor], Tensor], like: Tensor, size: int) -> None:
        self.columns, self.size = columns, size
        self._dtype, self._device = like.dtype, like.device

    @property
    def shape(self) -> tuple[int, int]:
        """(P, P)."""
        return self.size, self.size

    @property
    def dtype(self) -> torch.dtype:
        """The parameters' type."""
        return self._dtype

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self._device

    @torch.no_grad()
    def matmat(self, V: Float[Tensor, "P K"]) -> Float[Tensor, "P K"]:
        """F V, column by column."""
        self.check_vector(V)
        return self.columns(V)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(P={self.size}, {self.dtype})"
