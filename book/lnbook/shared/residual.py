"""What residual networks of layer-normalized blocks must have."""

__all__ = ["check_size"]

FEWEST = 4  # units: layer norm removes two of their dimensions


def check_size(depth: int, width: int) -> None:
    """Raise ValueError without a block, or with fewer than 4 units, of which layer norm leaves 2 dimensions.

    >>> check_size(1, 4)
    """
    if depth < 1:
        raise ValueError(f"depth is {depth}; a network has at least one block")
    if width < FEWEST:
        raise ValueError(
            f"width is {width}; layer norm removes 2 of the units' dimensions, give at least {FEWEST}"
        )
