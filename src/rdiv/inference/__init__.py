"""Inference: masks, sums and p-values. It knows neither models nor tables."""
