"""A package for each experiment of section 6: the experiment, its model, its metric; and what they share."""
