"""What carries a shift: rows, slices and columns, from the fit that was tested."""

from rdiv.drivers.find import find_drivers
from rdiv.drivers.result import Drivers, RowDriver, SliceDriver, WeightDriver

__all__ = ["Drivers", "RowDriver", "SliceDriver", "WeightDriver", "find_drivers"]
