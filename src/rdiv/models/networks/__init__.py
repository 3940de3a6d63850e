"""Networks: how any torch module is trained and judged, and those of the paper by name."""
