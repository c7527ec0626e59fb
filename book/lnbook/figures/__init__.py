"""How every figure of the book looks, and how it gets its name, caption and data."""
