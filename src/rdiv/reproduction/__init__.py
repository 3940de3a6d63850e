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
    "higgs": "rdiv.reproduction.tables.higgs",
    "mnist": "rdiv.reproduction.tables.mnist",
    "overfitting": "rdiv.reproduction.tables.overfitting",
    "hdgm-dimension": "rdiv.reproduction.tables.hdgm_dimension",
    "hdgm-size": "rdiv.reproduction.tables.hdgm_size",
    "blob": "rdiv.reproduction.tables.blob",
    "pacs": "rdiv.reproduction.tables.pacs",
    "pacs-size": "rdiv.reproduction.tables.pacs_size",
    "colored-mnist": "rdiv.reproduction.tables.colored_mnist",
    "corruption-cifar10": "rdiv.reproduction.tables.corruption_cifar10",
    "corruption-imagenet": "rdiv.reproduction.tables.corruption_imagenet",
    "architectures": "rdiv.reproduction.tables.architectures",
    "noisy-symmetric": "rdiv.reproduction.tables.noisy_symmetric",
    "noisy-pair": "rdiv.reproduction.tables.noisy_pair",
}
"""Where each table is declared: a module with the object ``TABLE``."""


class _Tables(Mapping[str, Table]):
    """Tables by name, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Table:
        table: Table = import_module(_HOMES[name]).TABLE
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


BY_NAME: Mapping[str, Table] = _Tables()
"""Every table that `reproduce` knows."""
