"""Planning: how many rows a comparison needs."""
