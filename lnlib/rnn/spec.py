"""What a network is, as plain facts, and what its helpers see of it instead of its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from lnlib.norms.normalize import weight_norm
from lnlib.rnn.cells import CELLS, Cell
from lnlib.rnn.statistics import StepStatistics
from lnlib.rnn.variants import Variant

__all__ = ["FACTS", "Network", "NetworkSpec"]


@dataclass(frozen=True)
class NetworkSpec:
    """What is fixed about a network; not its parameters, nor whether it trains.

    Attributes:
        mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size: as
            `torch.nn` has them; mode is "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        norm, eps, recurrent_dropout, variational_dropout, learn_initial_state, memory, max_steps, momentum:
            as the network was built with them.
        variant: the row, whatever name it was given by; without a norm torch's.
        zoneout: of h, and of an LSTM's c; () for never.
        suffixes: of the names of each layer's and direction's parameters, in torch's order.
        plain: names of the parameters that torch.nn has, without suffix.
        added: names and sizes of those beyond it.

    >>> from lnlib.rnn import LSTM
    >>> spec = LSTM(5, 4, bidirectional=True).spec
    >>> spec.kind, spec.variant.cell, spec.suffixes
    ('LSTM', 'output', ('_l0', '_l0_reverse'))
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int
    norm: str
    variant: Variant
    eps: float
    zoneout: tuple[float, ...]
    recurrent_dropout: float
    variational_dropout: float
    learn_initial_state: bool
    memory: str
    max_steps: int | None
    momentum: float | None
    suffixes: tuple[str, ...] = field(init=False, compare=False)
    plain: tuple[str, ...] = field(init=False, compare=False)
    added: tuple[tuple[str, int], ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        sides = ("", "_reverse")[: 1 + self.bidirectional]
        suffixes = (f"_l{layer}{side}" for layer in range(self.num_layers) for side in sides)
        biases = ("bias_ih", "bias_hh") if self.bias else ()
        projection = ("weight_hr",) if self.proj_size else ()
        object.__setattr__(self, "suffixes", tuple(suffixes))
        object.__setattr__(self, "plain", ("weight_ih", "weight_hh", *biases, *projection))
        object.__setattr__(self, "added", tuple(self._added()))

    def _added(self) -> Iterator[tuple[str, int]]:
        rows, gates = self.cell.gates * self.hidden_size, self.variant.gates
        if self.norm == "weight" or gates != "none":
            yield "gain_ih", rows
        if self.norm == "weight" or gates == "separate":
            yield "gain_hh", rows
        if self.variant.inner_bias and self.bias:
            yield "bias_inner", rows
        if self.variant.inner_bias == "both" and self.bias:
            yield "bias_inner_hh", rows
        if self.variant.cell != "raw":
            yield "gain_cell", self.hidden_size
            if self.bias:
                yield "bias_cell", self.hidden_size
        if self.learn_initial_state:
            for part, size in zip("hc", self.state_sizes, strict=False):
                yield f"initial_{part}", size

    @property
    def kind(self) -> str:
        """The mode without an RNN's nonlinearity."""
        return self.mode.partition("_")[0]

    @property
    def cell(self) -> type[Cell]:
        """What computes a step."""
        return CELLS[self.mode]

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """Numbers in a layer's h, and in an LSTM's c."""
        h = self.proj_size or self.hidden_size
        return (h, self.hidden_size) if self.mode == "LSTM" else (h,)

    @property
    def gains(self) -> tuple[tuple[str, int], ...]:
        """What is normalized in each layer, "ih", "hh" or "cell", and of how many units."""
        return tuple((name[5:], units) for name, units in self.added if name.startswith("gain_"))

    def build(self, p: Mapping[str, Tensor], training: bool, steps: StepStatistics | None = None) -> Cell:
        """The cell of a layer and direction that has these parameters, by their names without suffix."""
        if self.norm == "weight":
            p = {**p, **{f"weight_{k}": weight_norm(p[f"weight_{k}"], p[f"gain_{k}"]) for k in ("ih", "hh")}}
        drop = self.recurrent_dropout if training else 0.0
        return self.cell(p, self.variant, self.norm, self.eps, self.zoneout, drop, None, training, steps)


FACTS = frozenset(fact.name for fact in fields(NetworkSpec) if fact.init)


@runtime_checkable
class Network(Protocol):
    """A network as its helpers see it."""

    training: bool

    @property
    def spec(self) -> NetworkSpec:
        """What it is."""

    def cells(self) -> list[Cell]:
        """What it holds: a cell a layer and direction, as the spec's suffixes, for the present mode."""

    def train(self, mode: bool = True) -> Any:
        """torch.nn's change of mode."""
