"""Layer Normalization (Ba, Kiros, Hinton 2016), executed."""

__version__ = "0.1.0"
