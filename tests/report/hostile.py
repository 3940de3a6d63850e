"""Tables whose names and cells try to break a page."""

from __future__ import annotations

import numpy as np
import polars as pl

SCRIPT = "<script>document.title='broken'</script>"
NAMES = [
    SCRIPT,
    "\"quoted\" & 'more' </td></table>",
    "emoji 🎈 👩‍👩‍👧",
    "مرحبا بالعالم",
    "turned \u202eround",
    "{{ 7 * 7 }} {% raw %}",
    "$x^2$ \\frac{a",
    "n" * 3000,
    "<img src=x onerror=alert(1)>",
]


def table(rows: int, seed: int, *, columns: int = 12, turned: float = 0.0) -> pl.DataFrame:
    """A yes/no target, a column a hostile name, long and hostile cells, and plain columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, max(columns, len(NAMES) + 1)))
    bought = (x[:, 0] > 0) ^ (rng.random(rows) < turned)
    cells = [
        SCRIPT,
        "x" * 5000,
        "\"'<b>&amp;",
        "שלום 🎈",
        "\x00\x1b[31m",
        "</script><svg onload=alert(1)>",
    ]
    frame = {name: pl.Series(x[:, place]) for place, name in enumerate(NAMES)}
    frame["text"] = pl.Series([cells[i % len(cells)] for i in range(rows)])
    for place in range(len(NAMES), columns - 1):
        frame[f"column {place}"] = pl.Series(x[:, place])
    target = np.where(bought, SCRIPT, 'no & "no"')
    return pl.DataFrame({**frame, "<b>bought</b>": target})
