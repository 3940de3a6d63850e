"""The paper's tables and figures, measured again: its numbers beside ours, nulls beside both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from rdiv.reproduction.protocol import SCALES, Line, Plan, PlanLine, Run, Table
from rdiv.reproduction.running import Reproduced, reproduce

__all__ = [
    "BY_NAME",
    "SCALES",
    "Line",
    "Plan",
    "PlanLine",
    "Reproduced",
    "Run",
    "Table",
    "reproduce",
]

_HOMES = {
    "higgs": "higgs:TABLE",
    "mnist": "mnist:TABLE",
    "overfitting": "overfitting:TABLE",
    "hdgm-dimension": "hdgm:BY_DIMENSION",
    "hdgm-size": "hdgm:BY_SIZE",
    "blob": "blob:TABLE",
    "pacs": "pacs:BY_DOMAIN",
    "pacs-size": "pacs:BY_SIZE",
    "colored-mnist": "colored_mnist:TABLE",
    "corruption-cifar10": "corruption:CIFAR10_TABLE",
    "corruption-imagenet": "corruption:IMAGENET_TABLE",
    "architectures": "architectures:TABLE",
    "noisy-symmetric": "noisy_labels:SYMMETRIC",
    "noisy-pair": "noisy_labels:PAIR",
}
"""Where each table is declared: a module in `tables` and the name of the object."""


class _Tables(Mapping[str, Table]):
    """Tables by name, each loaded on first use."""

    def __getitem__(self, name: str) -> Table:
        module, _, thing = _HOMES[name].partition(":")
        table: Table = getattr(import_module(f"{__name__}.tables.{module}"), thing)
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


BY_NAME: Mapping[str, Table] = _Tables()
"""Every table that `reproduce` knows."""


def __dir__() -> list[str]:
    return sorted(__all__)
