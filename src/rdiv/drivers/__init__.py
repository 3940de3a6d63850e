"""What carries a shift: rows, slices and columns, from the fit that was tested."""

from rdiv.drivers.finding import find_drivers
from rdiv.drivers.findings import ColumnDriver, Drivers, RowDriver, SliceDriver

__all__ = ["ColumnDriver", "Drivers", "RowDriver", "SliceDriver", "find_drivers"]
