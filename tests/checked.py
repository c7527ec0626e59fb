"""The type checker of the tests: beartype, which by PEP 484 takes an int where a float is asked for."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
