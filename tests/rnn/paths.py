"""The ways in which `lnlib.rnn` computes: what it chooses by itself, and the plain loop over time."""

from contextlib import nullcontext

from lnlib.rnn import plain

PATHS = {"chosen": nullcontext, "plain": plain}
