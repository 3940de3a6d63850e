"""Watching over time: look after every batch, and the false-alarm rate still holds."""

from rdiv.monitoring.looks import Look
from rdiv.monitoring.monitor import Monitor
from rdiv.monitoring.state import MonitorState

__all__ = ["Look", "Monitor", "MonitorState"]


def __dir__() -> list[str]:
    return sorted(__all__)
