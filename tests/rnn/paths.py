"""The ways in which `lnlib.rnn` computes: what it chooses by itself, and the plain loop over time."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import lnlib.rnn

plain: Callable[[], AbstractContextManager[None]] = getattr(lnlib.rnn, "plain", nullcontext)
PATHS = {"chosen": nullcontext, "plain": plain}
