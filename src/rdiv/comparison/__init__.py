"""Comparison: a reference against one or more current samples, a verdict with its evidence."""
