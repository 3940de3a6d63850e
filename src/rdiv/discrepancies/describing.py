"""What every discrepancy sees, costs and needs: its class says so, here it becomes a table."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Description", "describe"]


@dataclass(frozen=True)
class Description:
    """One discrepancy in words.

    Parameters
    ----------
    name : str
        Its name in ``BY_NAME``.
    cls : str
        Its class in ``rdiv.discrepancies``.
    compares : str
        What its statistic compares.
    model : str
        What it takes for ``model=``, or "none".
    learns : str
        How it learns from labels; "no" when it is blind to them and tests all rows.
    cost : str
        What grows with the data.
    sees : str
        The differences that it finds.
    citation : str
    """

    name: str
    cls: str
    compares: str
    model: str
    learns: str
    cost: str
    sees: str
    citation: str


ATTRIBUTES = ("compares", "takes", "learning", "cost", "sees", "citation")
"""Of every class in ``BY_NAME``: the texts of a `Description`, in its order."""


def describe() -> tuple[Description, ...]:
    """What each discrepancy compares, takes, learns, costs and sees, with its citation.

    Examples
    --------
    >>> for test in describe()[:2]:
    ...     print(f"{test.name}: {test.sees}")
    r-div: what changes the model's average loss
    h-div: where separate training would help
    """
    from rdiv.discrepancies import BY_NAME

    return tuple(
        Description(name, cls.__name__, *(getattr(cls, attribute) for attribute in ATTRIBUTES))
        for name, cls in BY_NAME.items()
    )
