r"""Small matrix products inside a compiled loop: $C = A P$ for a few rows of A and a matrix P packed once.

A recurrence multiplies the same matrix by a few new rows at every step. P is cut into panels of `WIDTH`
columns, each stored row after row, so that a tile of C, `ROWS` by `WIDTH`, is summed up entirely in the
processor's vector registers: per k, load one row of the panel and `ROWS` numbers of A, and add their
products. :func:`multiply` is ordinary Python for numba; only the tile is written in LLVM's own words, since
a compiler that sees arrays keeps the sums in memory instead, at a quarter of the speed.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from lnlib.rnn.kernels.compiling import OPTIONS

__all__ = ["WIDTH", "multiply", "pack", "padded", "share"]

# Sums in registers: 6 x 4 vectors of 16 floats of AVX-512's 32, or 6 x 2 vectors of 8 of the 16 elsewhere.
# Numba compiles for this processor unless NUMBA_CPU_NAME is set.
HOST = config.CPU_NAME in (None, "host")  # type: ignore[attr-defined]
LANES, VECTORS = (16, 4) if HOST and llvm.get_host_cpu_features().get("avx512f") else (8, 2)
WIDTH = LANES * VECTORS
ROWS = 6
DEPTH = 256  # rows of a panel that stay in the first-level cache while all rows of A pass


def padded(columns: int) -> int:
    """The columns of C: a whole number of panels."""
    return -(-columns // WIDTH) * WIDTH


def _tile(rows: int) -> Any:
    """So many rows of A times one panel: c[r, j] (+)= sum over k < depth of a[r, k] panel[k, j].

    Its arguments are flat arrays, each with the position of its first element and the distance between rows.
    """
    vector = ir.VectorType(ir.FloatType(), LANES)

    @intrinsic
    def tile(typing, depth, a, a0, a_stride, panel, p0, c, c0, c_stride, add):
        size = types.intp
        signature = types.void(size, a, size, size, panel, size, c, size, size, types.boolean)

        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            depth, a, a0, a_stride, panel, p0, c, c0, c_stride, add = values

            def start(position: int, array: Any, first: Any) -> Any:
                data = context.make_array(signature.args[position])(context, builder, array).data
                return builder.gep(data, [first])

            def at(pointer: Any, index: Any, lane: int = 0) -> Any:
                return builder.gep(pointer, [builder.add(index, ir.Constant(index.type, lane))])

            def vectors(pointer: Any, index: Any) -> list[Any]:
                return [
                    builder.bitcast(at(pointer, index, LANES * v), vector.as_pointer())
                    for v in range(VECTORS)
                ]

            def times(value: Any, k: int) -> Any:
                return builder.mul(value, ir.Constant(value.type, k))

            fma = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{LANES}f32"
            )
            a, panel, c = start(1, a, a0), start(4, panel, p0), start(6, c, c0)
            zero = ir.Constant(vector, [0.0] * LANES)
            everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(VECTORS)] for _ in range(rows)]
            for row in sums:
                for total in row:
                    builder.store(zero, total)
            with cgutils.for_range(builder, depth) as loop:
                b = [builder.load(p, align=4) for p in vectors(panel, times(loop.index, WIDTH))]
                for r in range(rows):
                    number = builder.load(at(a, builder.add(times(a_stride, r), loop.index)))
                    lane = builder.insert_element(
                        ir.Constant(vector, ir.Undefined), number, everywhere.type.element(0)
                    )
                    copies = builder.shuffle_vector(lane, lane, everywhere)
                    for v in range(VECTORS):
                        builder.store(builder.call(fma, [copies, b[v], builder.load(sums[r][v])]), sums[r][v])
            for r in range(rows):
                for v, place in enumerate(vectors(c, times(c_stride, r))):
                    total = builder.load(sums[r][v])
                    before = builder.load(place, align=4)
                    builder.store(builder.select(add, builder.fadd(total, before), total), place, align=4)
            return context.get_dummy_value()

        return signature, emit

    return tile


_tile1, _tile2, _tile3, _tile4, _tile5, _tile6 = (_tile(rows) for rows in range(1, ROWS + 1))


@njit(**OPTIONS)
def multiply(a, first, every, last, packed, panels, c):
    """Rows first, first + every, ... < last of C = A P, in the panels from panels[0] to panels[1].

    Args:
        a: (N, rows of P), contiguous.
        packed: P as :func:`pack` stores it.
        panels: the first panel and the one after the last.
        c: (N, padded columns of P), contiguous.
    """
    flat_a, flat_c, depth, columns = a.ravel(), c.ravel(), a.shape[1], c.shape[1]
    rows = max(0, (last - first + every - 1) // every)
    tiles = (rows + ROWS - 1) // ROWS
    for panel in range(panels[0], panels[1]):
        for k in range(0, depth, DEPTH):
            here = min(DEPTH, depth - k)
            p0 = (panel * depth + k) * WIDTH
            for tile in range(tiles):
                begin = rows * tile // tiles
                count = rows * (tile + 1) // tiles - begin
                row = first + begin * every
                a0, c0 = row * depth + k, row * columns + panel * WIDTH
                da, dc = every * depth, every * columns
                if count == 6:
                    _tile6(here, flat_a, a0, da, packed, p0, flat_c, c0, dc, k > 0)
                elif count == 5:
                    _tile5(here, flat_a, a0, da, packed, p0, flat_c, c0, dc, k > 0)
                elif count == 4:
                    _tile4(here, flat_a, a0, da, packed, p0, flat_c, c0, dc, k > 0)
                elif count == 3:
                    _tile3(here, flat_a, a0, da, packed, p0, flat_c, c0, dc, k > 0)
                elif count == 2:
                    _tile2(here, flat_a, a0, da, packed, p0, flat_c, c0, dc, k > 0)
                else:
                    _tile1(here, flat_a, a0, da, packed, p0, flat_c, c0, dc, k > 0)


def pack(matrix: np.ndarray) -> np.ndarray:
    """P, (depth, columns), as flat panels: (panels, depth, WIDTH), with zeros in spare columns."""
    depth, columns = matrix.shape
    panels = padded(columns) // WIDTH
    packed = np.zeros((panels, depth, WIDTH), np.float32)
    for panel in range(panels):
        part = matrix[:, panel * WIDTH : (panel + 1) * WIDTH]
        packed[panel, :, : part.shape[1]] = part
    return packed.reshape(-1)


@njit(**OPTIONS)
def share(c, part, parts):
    """The panels of one thread, when the threads share the columns of c."""
    panels = c.shape[1] // WIDTH
    return panels * part // parts, panels * (part + 1) // parts
