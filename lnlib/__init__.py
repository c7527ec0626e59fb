"""Layer Normalization (Ba, Kiros, Hinton 2016), executed."""

from lnlib.normalize import batch_norm, group_norm, instance_norm, layer_norm, rms_norm, weight_norm

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm", "weight_norm"]

__version__ = "0.1.0"
