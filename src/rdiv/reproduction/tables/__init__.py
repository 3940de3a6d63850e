"""The tables of the paper, one a file."""
