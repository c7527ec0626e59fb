"""Beyond the paper: what implementations of its LSTM do differently."""
