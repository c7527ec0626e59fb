r"""A symmetric matrix that is known by its products: what both operators share, and what SciPy needs."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

__all__ = ["MatrixFree"]


class MatrixFree(ABC):
    r"""A symmetric (P, P) matrix by its products $v \mapsto Fv$; subclasses say how to multiply columns.

    Attributes:
        shape: (P, P). dtype, device: of the parameters.
    """

    def __init__(self, like: Tensor, size: int) -> None:
        self.shape, self.dtype, self.device = (size, size), like.dtype, like.device

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

    def check_vector(self, v: Tensor, most: int = 2) -> None:
        """Refuse what is no tensor of the model's type and size."""
        P = self.shape[0]
        if not isinstance(v, Tensor) or v.dtype != self.dtype:
            found = v.dtype if isinstance(v, Tensor) else type(v).__name__
            raise TypeError(
                f"give {self.dtype} tensors, not {found}; convert it, or use to_scipy() with NumPy"
            )
        if not 1 <= v.ndim <= most or len(v) != P:
            raise ValueError(
                f"the shape is {tuple(v.shape)}, and the model's P = {P} parameters make it ({P},)"
                + f" or ({P}, K)" * (most - 1)
            )

    def to_scipy(self) -> "LinearOperator":
        """A `scipy.sparse.linalg.LinearOperator` on NumPy vectors: for `eigsh`, `cg`, `svds`."""
        try:
            from scipy.sparse.linalg import LinearOperator
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "to_scipy needs scipy: pip install 'lnlib[scipy]'", name="scipy"
            ) from error

        def product(v: Any) -> Any:
            if np.iscomplexobj(v):
                raise TypeError(f"F is real and the vector {v.dtype}; multiply its real and imaginary part")
            own = np.array(v, order="C")  # torch takes neither read-only nor reversed arrays
            return (self @ torch.from_numpy(own).to(self.device, self.dtype)).cpu().numpy()

        dtype = torch.empty(0, dtype=self.dtype).numpy().dtype
        return LinearOperator(self.shape, matvec=product, rmatvec=product, matmat=product, dtype=dtype)
