r"""A whole sequence of a layer-normalized LSTM or GRU in one compiled loop: numba, float32.

Arrays are contiguous. Sequences stand in the order of their lengths, so that at each step the first so many
of N run; their rows of the packed arrays begin at that step's start. Each thread takes every so-many-th
sequence through all steps without waiting for the others. A matrix that is larger than the caches had better
be read once a step for all: then, "together", the threads share its columns, and meet twice a step.

Forward, a step: R = h W in a small product; per row the statistics of A (the projected input) and of R, their
normalized values, gates, cell, output. Kept for the way back: both normalized projections, the state before,
and four scalars a row; no gates, which are sooner computed again than stored. Backward, the same in reverse:
the gradients of both projections replace their normalized values, and wait there for one large product over
all steps.
"""
