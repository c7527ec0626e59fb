r"""`RNN`, `LSTM`, `GRU`: torch.nn's modules with a normalization inside.

Constructor, call, shapes, state layout, parameter names and errors are those of `torch.nn`, from which the
classes inherit; what normalization adds stands behind the star.

==============  =======================================================  ==========================
parameter       what                                                     where
==============  =======================================================  ==========================
`gain_ih_l0`    gain of the input's projection, or of the sum ("joint")  all but none
`gain_hh_l0`    gain of the state's projection                           "separate" gates, weight
`gain_cell_l0`  gain and bias of an LSTM's cell on its way to h          layer, rms, batch
`bias_cell_l0`
`bias_inner_l0` bias inside the normalization of the input's projection  variant "released"
                (and `bias_inner_hh_l0`: of the state's)
==============  =======================================================  ==========================

`bias_ih_l0` and `bias_hh_l0` are the biases that the two normalizations add: after them, not before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from lnlib.norms.normalize import weight_norm
from lnlib.rnn import convert, statistics
from lnlib.rnn.backends import Backend, watching, why_not_compiled, why_not_torch
from lnlib.rnn.cells import CELLS, Cell
from lnlib.rnn.config import OPTIONS, Config
from lnlib.rnn.forms import Form
from lnlib.rnn.stack import run_layers
from lnlib.rnn.statistics import StepStatistics

__all__ = ["GRU", "LSTM", "RNN", "Normalized", "backend"]

SMALL_GAIN = 0.1  # batch norm's at the start: Cooijmans et al. (2016), section 4


class Normalized(nn.RNNBase):
    """A network of `torch.nn` with a norm inside: mixed in before torch's own class.

    Attributes:
        config: the options beyond torch.nn's.
        suffixes: of the names of each layer's and direction's parameters, in torch's order.
        common: names of a layer's parameters that torch.nn has, without suffix.
        added: names and sizes of those beyond it.
        normalized: what is normalized in each layer, "ih", "hh" or "cell", and of how many units.
        widths: numbers in a layer's h, and in an LSTM's c.
    """

    config: Config

    def __init__(self, *args: Any, **kwargs: Any):
        given = {name: kwargs.pop(name) for name in OPTIONS if name in kwargs}
        super().__init__(*args, **kwargs)
        self.config = Config(self.mode.partition("_")[0], self.bias, **given)
        sides = ("", "_reverse")[: 1 + self.bidirectional]
        self.suffixes = [f"_l{layer}{side}" for layer in range(self.num_layers) for side in sides]
        biases = ["bias_ih", "bias_hh"] if self.bias else []
        self.common = ["weight_ih", "weight_hh", *biases, *(["weight_hr"] if self.proj_size else [])]
        self.added = dict(self.config.added(CELLS[self.mode].gates, self.hidden_size))
        self.normalized = {name[5:]: size for name, size in self.added.items() if name.startswith("gain_")}
        self.widths = [self.proj_size or self.hidden_size, self.hidden_size][: 1 + (self.mode == "LSTM")]
        like = self.all_weights[0][0]
        for suffix in self.suffixes:
            for name, size in self.added.items():
                self.register_parameter(name + suffix, nn.Parameter(like.new_empty(size)))
        if self.config.norm == "batch":
            steps = self.config.max_steps or 0
            for name, buffer in statistics.buffers(self.normalized, self.suffixes, steps, like):
                self.register_buffer(name, buffer)
        self.reset_parameters()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OPTIONS:  # an option of today counts at the next call, as torch.nn's do
            name, value = "config", replace(self.config, **{name: value})
        super().__setattr__(name, value)
        if name == "config":
            self.__dict__.update((option, getattr(value, option)) for option in OPTIONS)

    def reset_parameters(self) -> None:
        """Weights as torch.nn's; gains 1 or batch norm's 0.1; biases, but forget_bias, 0.

        With weight norm, or none, torch's function at the start: its biases, and gains as long as the rows.
        """
        if not hasattr(self, "config"):
            return  # torch's constructor calls before there is all of it
        super().reset_parameters()
        norm, forget_bias = self.config.norm, self.config.forget_bias
        with torch.no_grad():
            for name, value in self.named_parameters():
                kind, _, layer = name.partition("_l")
                if kind in ("gain_ih", "gain_hh") and norm == "weight":
                    value.copy_(getattr(self, f"weight{kind[4:]}_l{layer}").norm(dim=1))
                elif kind.startswith("gain"):
                    value.fill_(SMALL_GAIN if norm == "batch" else 1)
                elif kind.startswith("bias") and norm not in ("weight", "none"):
                    value.zero_()
                if kind == "bias_ih" and forget_bias:
                    value[self.hidden_size : 2 * self.hidden_size] += forget_bias
        self.reset_running_stats()

    def reset_running_stats(self) -> None:
        """Forget batch norm's batches: means 0 and variances 1, as torch.nn's.

        `torch.optim.swa_utils.update_bn` knows torch's layers only. After averaging weights call this, set
        `momentum = None`, and run the data through in training mode.
        """
        for name, buffer in self.named_buffers(recurse=False):
            buffer.fill_(1 if name.startswith("running_var") else 0)

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
        return f"{super().extra_repr()}, {self.config.shown()}"

    def cells(self) -> list[Cell]:
        """A cell a layer and direction, in torch.nn's order, that computes its steps in the present mode.

        Its `p` are the parameters by their names without suffix, those of today: what needs a network's
        parameters takes them from here.

        >>> GRU(3, 4, num_layers=2).cells()[1].p["weight_ih"].shape
        torch.Size([12, 4])
        """
        config, names, found = self.config, [*self.common, *self.added], []
        make, row = CELLS[self.mode], config.row
        drop = config.recurrent_dropout if self.training else 0.0
        for suffix in self.suffixes:
            # By name, not from named_parameters(): pruned or parametrized weights are attributes too.
            p = {name: getattr(self, name + suffix) for name in names}
            if config.norm == "weight":
                p |= {f"weight_{k}": weight_norm(p[f"weight_{k}"], p[f"gain_{k}"]) for k in ("ih", "hh")}
            steps = None
            if config.norm == "batch":
                running = {
                    side: tuple(getattr(self, f"running_{kind}_{side}{suffix}") for kind in ("mean", "var"))
                    for side in self.normalized
                }
                steps = StepStatistics(running, self.training)
            found.append(make(p, row, config.norm, config.eps, config.rates, drop, self.training, steps))
        return found

    load_torch = convert.load_torch
    load_released = convert.load_released

    def forward(
        self, input: Tensor | PackedSequence, hx: Any = None, *, return_cells: bool = False
    ) -> tuple[Any, ...]:
        """Run all layers. Arguments and results as torch.nn's module of the same name, and:

        Args:
            return_cells: also return, last and laid out as the output, the last layer's cells at each step.
        """
        # Left out of graphs as torch.nn's networks are: the loop would be unrolled, anew for each length.
        apart = not torch.compiler.is_compiling() and watching() is not None
        run = torch.compiler.disable(self._run) if apart else self._run
        return run(input, hx, return_cells)

    def _run(self, input: Tensor | PackedSequence, hx: Any, return_cells: bool) -> tuple[Any, ...]:
        config = self.config
        form, x = Form.of(input, self.batch_first, self._get_name())
        state = form.initial(x, hx, self.num_layers * (1 + self.bidirectional), self.widths)
        packed = None if form.packed is None else form.packed.batch_sizes
        self.check_forward_args(x, state if len(state) > 1 else state[0], packed)  # type: ignore[arg-type]
        if return_cells and config.kind != "LSTM":
            raise ValueError(
                f"return_cells asks for an LSTM's cells, and this is an {config.kind}; leave it out"
            )
        own = config.norm != "none" or return_cells or not x.numel()  # torch.nn refuses nothing at all
        if not own and not why_not_torch(config, self.proj_size):
            return super().forward(input, hx)
        sizes, cells = form.sizes, self.cells()
        by_batch = config.norm == "batch" and self.training
        if by_batch:
            statistics.check_cases(sizes)
        outputs, state = run_layers(
            cells,
            form.rows(x),
            sizes,
            form.sort(state),
            bidirectional=self.bidirectional,
            dropout=self.dropout,
            return_cells=return_cells,
            recompute=config.memory == "recompute",
        )
        if by_batch:
            used = [cell.statistics for cell in cells if cell.statistics]
            statistics.track(self.num_batches_tracked, used, sizes, config.momentum)  # type: ignore[arg-type]
        output, *rest = map(form.output, outputs)
        state = form.unsort(state)
        return output, state if len(state) > 1 else state[0], *rest


class RNN(Normalized, nn.RNN):
    r"""An Elman network, its summed inputs normalized: Eq. (4).

    Arguments as `torch.nn.RNN`, then those of :class:`LSTM` behind the star but `recurrent_dropout`.

    >>> RNN(5, 4, nonlinearity="relu", zoneout=0.1)
    RNN(5, 4, norm=layer, zoneout=0.1)
    """


class LSTM(Normalized, nn.LSTM):
    r"""A layer-normalized LSTM: Eqs. (20)-(22).

    Args:
        *args: `torch.nn.LSTM`'s, by their names too; behind the star:
        norm="layer": or "rms", "weight", "none", "batch" (recurrent: :mod:`lnlib.rnn.statistics`).
        variant="paper": what is normalized where: a name or row of :data:`lnlib.rnn.variants.VARIANTS`.
        eps=1e-5: added to a variance. A step from a zero state over a zero input multiplies gradients by up
            to 1 / sqrt(eps) in each normalization: standardize inputs that begin with blank steps.
        forget_bias=0.0: added to the forget gate's bias at the start.
        zoneout=0.0: how often an entry of the state, h and c or each its own number, keeps its old value;
            evaluation takes the mean (Krueger et al., 2016).
        recurrent_dropout=0.0: how often an entry of the candidate is dropped (Semeniuta et al., 2016).
        memory="save": what the backward pass needs, or "recompute" most of it from every sqrt(T)-th state.
        max_steps=None: batch norm's: how many steps have running statistics of their own.
        momentum=0.1: batch norm's: the weight of the newest batch once there were 1 / momentum; None for the
            mean of all.

    As torch.nn's own, torch.compile leaves it alone unless `allow_rnn` is set: it runs on its own code.

    Under autocast, norm "none" is torch.nn's own path, numbers and dtypes. With any other norm the products
    are in autocast's type, statistics in float32, and what is normalized, bias included, keeps its dtype; an
    LSTM's cell and a GRU's h, which are sums over time, and an LSTM's output stay in that of the states.

    >>> import torch
    >>> lstm = LSTM(5, 4, num_layers=2)
    >>> output, (h, c) = lstm(torch.zeros(7, 3, 5))
    >>> output.shape, h.shape, c.shape
    (torch.Size([7, 3, 4]), torch.Size([2, 3, 4]), torch.Size([2, 3, 4]))

    Weight decay: an optimizer of torch decays all that it is given, gains too. Trainers that leave out
    parameters of fewer than two axes (nanoGPT's, timm's) leave those out; trainers that go by the name "bias"
    and by the type or name of a norm's layer (that of transformers) decay `gain_*`, which belong to the
    network itself. To decay the matrices alone, whatever the trainer:

    >>> matrices, others = ([p for p in lstm.parameters() if (p.ndim > 1) == m] for m in (True, False))
    >>> groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    >>> optimizer = torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.01)
    """


class GRU(Normalized, nn.GRU):
    r"""A layer-normalized GRU: Eqs. (26)-(28).

    Arguments as `torch.nn.GRU`, then those of :class:`LSTM` behind the star but `forget_bias`.

    >>> gru = GRU(5, 4, norm="batch", max_steps=7)
    >>> gru.running_mean_hh_l0.shape
    torch.Size([7, 12])
    """


def backend(module: Normalized) -> Backend:
    """What a call of this network would run on now, for an input like its parameters.

    >>> backend(LSTM(2, 3, dtype=torch.float64))
    Backend(name='plain', reason='the weights are torch.float64; the kernels are float32')
    """
    if module.config.norm == "none":
        reason = why_not_torch(module.config, module.proj_size)
        own = Backend("torch", "without a norm this is torch.nn's own")
        return Backend("plain", reason) if reason else own
    cell = module.cells()[0]
    reason = why_not_compiled(cell, cell.p["weight_ih"], (cell.p["weight_hh"],))
    return Backend("plain", reason) if reason else Backend("numba", "float32 on the CPU")
