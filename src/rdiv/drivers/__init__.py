"""What carries a shift: rows, slices and columns, from the fit that was tested."""

from rdiv.drivers.find import find_drivers
from rdiv.drivers.result import ColumnDriver, Drivers, RowDriver, SliceDriver

__all__ = ["ColumnDriver", "Drivers", "RowDriver", "SliceDriver", "find_drivers"]
