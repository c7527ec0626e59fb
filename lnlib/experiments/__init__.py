"""One file per experiment of section 6: model, task and metric."""
