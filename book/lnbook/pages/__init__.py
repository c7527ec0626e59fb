"""A room a page, named as its notebook: what this page uses and no other."""
