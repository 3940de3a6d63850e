"""Watching over time: look after every batch, and the false-alarm rate still holds."""

from rdiv.monitoring.monitor import Monitor
from rdiv.monitoring.state import Look, MonitorState

__all__ = ["Look", "Monitor", "MonitorState"]
