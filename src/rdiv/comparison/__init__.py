"""Comparison: a reference and one or more current samples, and a verdict with its evidence."""
