"""What the three networks share: the norm's parameters, and the way from a batch to the loop over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from lnlib.norms.checks import is_eps
from lnlib.norms.standardize import EPS
from lnlib.rnn import options, statistics
from lnlib.rnn.backends import watching, why_not_torch
from lnlib.rnn.cells import Cell
from lnlib.rnn.convert import load_released, load_torch
from lnlib.rnn.forms import Form
from lnlib.rnn.spec import FACTS, NetworkSpec
from lnlib.rnn.stack import run_layers
from lnlib.rnn.statistics import StepStatistics
from lnlib.rnn.variants import Variant, variant_of

__all__ = ["Normalized"]

NORMS = ("layer", "rms", "weight", "batch", "none")
SMALL_GAIN = 0.1  # batch norm's at the start: Cooijmans et al. (2016), section 4


class Normalized(nn.RNNBase):
    """A network of `torch.nn` with a norm inside: mixed in before torch's own class."""

    __jit_unused_properties__ = [*nn.RNNBase.__jit_unused_properties__, "spec"]  # noqa: RUF012
    _spec: NetworkSpec | None

    def __init__(
        self,
        *args: Any,
        norm: str = "layer",
        variant: str | Variant = "paper",
        eps: float = EPS,
        forget_bias: float = 0.0,
        zoneout: float | tuple[float, float] = 0.0,
        recurrent_dropout: float = 0.0,
        variational_dropout: float = 0.0,
        learn_initial_state: bool = False,
        memory: str = "save",
        max_steps: int | None = None,
        momentum: float | None = 0.1,
        **kwargs: Any,
    ):
        if not is_eps(eps):
            raise ValueError(f"eps is {eps!r}; it is added to a variance, give a number >= 0")
        super().__init__(*args, **kwargs)
        kind = self.mode.partition("_")[0]
        self.norm, self.variant = options.check_choice("norm", norm, NORMS), variant
        row = variant_of(kind, variant, norm)
        self.eps = eps if row.eps is None else row.eps
        self.forget_bias = options.check_forget_bias(forget_bias, kind, self.bias)
        self.zoneout = zoneout
        self.recurrent_dropout = options.check_candidate_dropout(recurrent_dropout, kind)
        self.variational_dropout = options.check_probability("variational_dropout", variational_dropout)
        self.learn_initial_state = bool(learn_initial_state)
        self.memory = options.check_choice("memory", memory, ("save", "recompute"))
        options.check_batch(norm, max_steps, momentum)
        self.max_steps, self.momentum = max_steps, momentum
        like, spec = self.all_weights[0][0], self.spec
        for suffix in spec.suffixes:
            for name, size in spec.added:
                self.register_parameter(name + suffix, nn.Parameter(like.new_empty(size)))
        if max_steps is not None:
            for name, buffer in statistics.buffers(spec.gains, spec.suffixes, max_steps, like):
                self.register_buffer(name, buffer)
        self.reset_parameters()

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in FACTS:  # an option of today counts at the next call, as torch.nn's do
            self.__dict__["_spec"] = None

    @property
    def spec(self) -> NetworkSpec:
        """What this network is: made once, and anew after an option has been assigned to."""
        if self._spec is None:
            facts = {name: getattr(self, name) for name in FACTS}
            kind = self.mode.partition("_")[0]
            facts["variant"] = variant_of(kind, self.variant, self.norm)
            facts["zoneout"] = options.zoneout_rates(self.zoneout, kind)
            self._spec = NetworkSpec(**facts)
        return self._spec

    def reset_parameters(self) -> None:
        """Weights as torch.nn's; gains 1 or batch norm's 0.1; biases, but forget_bias, and initial states 0.

        With weight norm, or none, torch's function at the start: its biases, and gains as long as the rows.
        """
        if not hasattr(self, "max_steps"):
            return  # torch's constructor calls before there is all of it
        super().reset_parameters()
        with torch.no_grad():
            for name, value in self.named_parameters():
                kind, _, layer = name.partition("_l")
                if kind in ("gain_ih", "gain_hh") and self.norm == "weight":
                    value.copy_(getattr(self, f"weight{kind[4:]}_l{layer}").norm(dim=1))
                elif kind.startswith("gain"):
                    value.fill_(SMALL_GAIN if self.norm == "batch" else 1)
                elif kind.startswith("initial") or (
                    kind.startswith("bias") and self.norm not in ("weight", "none")
                ):
                    value.zero_()
                if kind == "bias_ih" and self.forget_bias:
                    value[self.hidden_size : 2 * self.hidden_size] += self.forget_bias
        if self.norm == "batch":
            statistics.reset(self.named_buffers(recurse=False))

    def _apply(self, fn: Any, recurse: bool = True) -> Normalized:
        """Move or convert; but batch norm's statistics, squares of large numbers, keep 32 bits at least."""
        wide = {name: buffer for name, buffer in self.named_buffers() if name.startswith("running")}
        super()._apply(fn, recurse)
        for name, buffer in wide.items():
            now = self.get_buffer(name)
            setattr(self, name, now if now.dtype.itemsize >= 4 else buffer.to(now.device))
        return self

    def flatten_parameters(self) -> None:
        """Nothing to do: the loop reads the parameters where they are. But torch runs norm "none"."""
        if getattr(self, "norm", "") == "none":
            super().flatten_parameters()

    def extra_repr(self) -> str:
        """torch.nn's line, then the norm and what differs from the default."""
        shown = f"{super().extra_repr()}, norm={self.norm}"
        if self.variant != "paper" and self.norm not in ("none", "weight"):
            shown += f", variant={self.variant}"
        changed = {
            name: getattr(self, name)
            for name, default in options.DEFAULTS.items()
            if getattr(self, name) != default
        }
        return shown + "".join(f", {name}={value}" for name, value in changed.items())

    def _held(self, suffix: str) -> dict[str, Tensor]:
        """Parameters of a layer and direction, by name without suffix."""
        # By name, not from named_parameters(): pruned or parametrized weights are attributes too.
        names = [*self.spec.plain, *(name for name, _ in self.spec.added)]
        return {name: getattr(self, name + suffix) for name in names}

    def cells(self) -> list[Cell]:
        """A cell a layer and direction, in torch.nn's order, that computes its steps in the present mode.

        Its `p` are the parameters by their names without suffix, those of today: what needs a network's
        parameters takes them from here.

        >>> from lnlib.rnn import GRU
        >>> GRU(3, 4, num_layers=2).cells()[1].p["weight_ih"].shape
        torch.Size([12, 4])
        """
        spec, found = self.spec, []
        for suffix in spec.suffixes:
            steps = None
            if spec.norm == "batch":
                running = {
                    side: tuple(getattr(self, f"running_{kind}_{side}{suffix}") for kind in ("mean", "var"))
                    for side, _ in spec.gains
                }
                steps = StepStatistics(running, self.training)
            found.append(spec.build(self._held(suffix), self.training, steps))
        return found

    def load_torch(self, module: nn.RNNBase) -> None:
        """Copy the weights of a torch.nn module: see :func:`lnlib.rnn.convert.load_torch`."""
        load_torch(self.spec, self._by_name(), module)

    def load_released(self, arrays: Mapping[str, Any] | str | Path) -> None:
        """Load the authors' published weights: see :func:`lnlib.rnn.convert.load_released`."""
        load_released(self.spec, self._by_name(), arrays)

    def _by_name(self) -> dict[str, Tensor]:
        """Every parameter, those that two layers share under both names."""
        return dict(self.named_parameters(remove_duplicate=False))

    def forward(
        self,
        input: Tensor | PackedSequence,
        hx: Any = None,
        *,
        reset: Tensor | None = None,
        return_cells: bool = False,
    ) -> tuple[Any, ...]:
        """Run all layers. Arguments and results as torch.nn's module of the same name, and:

        Args:
            reset: True where a sequence begins anew, from the initial state: before that step, and for the
                reverse direction after it. Laid out as the input but without its last axis; packed: (T, N).
            return_cells: also return, last and laid out as the output, the last layer's cells at each step.
        """
        # Left out of graphs as torch.nn's networks are: the loop would be unrolled, anew for each length.
        apart = not torch.compiler.is_compiling() and watching() is not None
        run = torch.compiler.disable(self._run) if apart else self._run
        return run(input, hx, reset, return_cells)

    def _run(
        self, input: Tensor | PackedSequence, hx: Any, reset: Tensor | None, return_cells: bool
    ) -> tuple[Any, ...]:
        if not isinstance(input, PackedSequence) and input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        spec = self.spec
        form, x = Form.of(input, spec.batch_first)
        learned = [self._held(suffix) for suffix in spec.suffixes] if spec.learn_initial_state else []
        state = form.initial(spec, x, hx, learned)
        packed = None if form.packed is None else form.packed.batch_sizes
        self.check_forward_args(x, state if len(state) > 1 else state[0], packed)  # type: ignore[arg-type]
        options.check_call(spec.kind, spec.norm, reset, return_cells)
        asked = reset is not None or return_cells or not x.numel()  # more than torch.nn does
        if spec.norm == "none" and not asked and not why_not_torch(spec):
            return super().forward(input, hx)
        rows, sizes, state, marks = form.rows(x), form.sizes, form.sort(state), form.marks(reset)
        cells, by_batch = self.cells(), spec.norm == "batch" and self.training
        if by_batch:
            statistics.check_cases(sizes)
        outputs, state = run_layers(spec, cells, rows, sizes, state, marks, return_cells)
        if by_batch:
            used = [cell.statistics for cell in cells if cell.statistics]
            statistics.track(self.num_batches_tracked, used, sizes, spec.momentum)  # type: ignore[arg-type]
        output, *rest = map(form.output, outputs)
        state = form.unsort(state)
        return output, state if len(state) > 1 else state[0], *rest
