"""Networks: how any torch module is trained and evaluated, and the networks of the paper."""
