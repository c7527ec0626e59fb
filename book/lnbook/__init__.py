"""The workshop of the book: what its pages need beyond the library `lnlib`.

Imports go one way: data <- ledger <- figures <- training <- shared <- pages <- explore <- cli; and no page's
room imports another's.
"""
