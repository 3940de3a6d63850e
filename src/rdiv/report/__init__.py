"""Results as pages: one file, no network, no data except the rows listed. Never runs a test."""

from __future__ import annotations

from rdiv.report.pages import comparison_page, many_page, short_form
from rdiv.report.provenance import InputFile, Provenance, versions
from rdiv.results import short_block

__all__ = [
    "InputFile",
    "Provenance",
    "comparison_page",
    "many_page",
    "short_block",
    "short_form",
    "versions",
]


def __dir__() -> list[str]:
    return sorted(__all__)
