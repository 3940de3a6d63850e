"""What carries a shift: rows, slices and columns, from the fits that were tested."""

from rdiv.drivers.contributions import ColumnGroup, Contributions
from rdiv.drivers.find import SearchedRows, find_drivers, rows_to_search
from rdiv.drivers.moved import moved_columns
from rdiv.drivers.moved_column import MovedColumn
from rdiv.drivers.result import Drivers, RowDriver, SliceDriver, UnusualRow, WeightDriver
from rdiv.drivers.unusual import unusual_rows

__all__ = [
    "ColumnGroup",
    "Contributions",
    "Drivers",
    "MovedColumn",
    "RowDriver",
    "SearchedRows",
    "SliceDriver",
    "UnusualRow",
    "WeightDriver",
    "find_drivers",
    "moved_columns",
    "rows_to_search",
    "unusual_rows",
]
