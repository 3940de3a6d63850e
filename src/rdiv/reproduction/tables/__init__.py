"""The tables of the paper, one per file."""
