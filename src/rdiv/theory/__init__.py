"""The theory in numbers: the bounds of the paper, sharper bounds, and their complexities."""

from rdiv.theory.complexity import (
    Complexity,
    FiniteClass,
    HypothesisClass,
    LinearClass,
    NetworkClass,
    rademacher_complexity,
)
from rdiv.theory.networks import (
    NetworkNorms,
    frobenius_norms,
    lipschitz_constant,
    network_norms,
    read_weights,
)
from rdiv.theory.paper_bounds import (
    conditional_bound,
    deviation_bound,
    general_bound,
    limit_bound,
    network_bound,
    network_complexity,
)
from rdiv.theory.sharper import (
    sharp_conditional_bound,
    sharp_deviation_bound,
    sharp_general_bound,
    sharp_limit_bound,
    sharp_network_bound,
)

__all__ = [
    "Complexity",
    "FiniteClass",
    "HypothesisClass",
    "LinearClass",
    "NetworkClass",
    "NetworkNorms",
    "conditional_bound",
    "deviation_bound",
    "frobenius_norms",
    "general_bound",
    "limit_bound",
    "lipschitz_constant",
    "network_bound",
    "network_complexity",
    "network_norms",
    "rademacher_complexity",
    "read_weights",
    "sharp_conditional_bound",
    "sharp_deviation_bound",
    "sharp_general_bound",
    "sharp_limit_bound",
    "sharp_network_bound",
]


def __dir__() -> list[str]:
    return sorted(__all__)
