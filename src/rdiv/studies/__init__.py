"""Studies: power and type-I error, measured so that nothing is lost."""

from __future__ import annotations

from rdiv.studies.power import PowerStudy, power_study, run_study
from rdiv.studies.study import Study

__all__ = ["PowerStudy", "Study", "power_study", "run_study"]


def __dir__() -> list[str]:
    return sorted(__all__)
