"""Section 7: how readers read the sentences, and what was gained."""
