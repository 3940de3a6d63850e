"""The state of a monitor: a value that is one file, with the numbers so far and every look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference.intervals import Interval
from rdiv.monitoring.detector import Since, change_point, restarted_alarms
from rdiv.monitoring.looks import COLUMNS, SHOWN, Look, Watched
from rdiv.monitoring.packing import sealed, unsealed
from rdiv.monitoring.process import Process
from rdiv.monitoring.words import details, headline, warnings_of
from rdiv.results import short_block
from rdiv.whole_files import write_whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SCHEMA", "MonitorState"]

SCHEMA = 1

PROCESSES = ("labelled", "expected")
"""Losses of rows whose labels are known, and losses that are to be expected of all rows."""


@dataclass(frozen=True, eq=False)
class MonitorState:
    """Everything that a monitor knows after some batches; `rdiv.Monitor.update` makes the next.

    Parameters
    ----------
    watched : Watched
    processes : mapping of str to Process
        ``"labelled"``, and ``"expected"`` where labels come late.
    history : tuple of Look
        One entry per batch, and one for labels that came later; none is ever changed.
    chain : str
        Digest of all batches in their order.
    labels_late : bool or None
        Whether the first batch came without all its labels; None before it.
    notes : mapping
        Whatever else belongs to the file, such as where the reference is.

    Notes
    -----
    ``evalue`` is scaled so that the alarm is at ``1 / alpha``: with two processes it is half of the
    larger wealth, and with ``min_gap`` four fifths of it, as the rest of alpha is spent elsewhere.

    Examples
    --------
    >>> import polars as pl
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> losses = pl.DataFrame({"loss": rng.exponential(size=500)})
    >>> monitor = rdiv.Monitor(losses, loss="loss", rng=0)
    >>> state = monitor.update(monitor.start(), losses.head(40) * 3, name="monday")
    >>> again = rdiv.monitoring.MonitorState.from_json(state.to_json())
    >>> print(again.alarm, again.since.name, again.to_json() == state.to_json())
    True monday True
    """

    watched: Watched
    processes: Mapping[str, Process]
    history: tuple[Look, ...] = ()
    chain: str = ""
    labels_late: bool | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def alarm(self) -> bool:
        """Whether the alarm has been raised; it stays."""
        return any(
            process.wealth.largest >= 1 / process.budget for process in self.processes.values()
        )

    @property
    def evalue(self) -> float:
        """Evidence against "nothing has changed" now; 1 is none."""
        return self._scaled({name: one.wealth.value for name, one in self.processes.items()})

    @property
    def largest_evalue(self) -> float:
        """The largest evidence so far, within batches too."""
        return self._scaled({name: one.wealth.largest for name, one in self.processes.items()})

    @property
    def pvalue(self) -> float:
        """A p-value that may be looked at after every batch; it never rises."""
        alpha = self.watched.alpha
        if self.watched.min_gap is None:
            return min(1.0, 1 / self.largest_evalue)
        spent = alpha - sum(process.budget for process in self.processes.values())
        return min(1.0, spent + (alpha - spent) / alpha / self.largest_evalue)

    @property
    def leading(self) -> Process:
        """The process that the gap is about: that of the losses, once some are known."""
        known = self.processes["labelled"]
        return known if known.mean.count else self.processes.get("expected", known)

    @property
    def gap_is_expected(self) -> bool:
        """Whether the gap is one of expected losses, because no label has come yet."""
        return self.leading is not self.processes["labelled"]

    @property
    def gap(self) -> float | None:
        """Mean loss of the stream so far minus that of the reference; positive is worse."""
        return self.leading.gap

    @property
    def gap_interval(self) -> Interval | None:
        """The confidence sequence of the gap: it may be read after every batch."""
        return self.leading.gap_interval

    @property
    def alarmed_by(self) -> str | None:
        """The process with most evidence, "labelled" or "expected"; None without an alarm."""
        if not self.alarm:
            return None
        evidence = {name: one.wealth.largest * one.budget for name, one in self.processes.items()}
        return max(evidence, key=evidence.__getitem__)

    @property
    def since(self) -> Since | None:
        """The batch in which the change began, estimated; None without an alarm."""
        name = self.alarmed_by
        if name is None:
            return None
        return change_point(*self._evidence(name), self.processes[name].wealth.weights)

    @property
    def gap_since(self) -> float | None:
        """Gap of the batches since the change began, estimated; None without an alarm."""
        since = self.since
        if since is None:
            return None
        first = next(i for i, look in enumerate(self.history) if look.name == since.name)
        expected = self.alarmed_by == "expected"
        of, size = ("expected_gap", "rows") if expected else ("gap", "labelled")
        pairs = [(getattr(look, of), getattr(look, size)) for look in self.history[first:]]
        known = [(gap, n) for gap, n in pairs if gap is not None]
        rows = sum(n for _, n in known)
        return sum(gap * n for gap, n in known) / rows if rows else None

    def alarms(self, between: float) -> list[str]:
        """Batches at which a detector that starts again after each alarm sounds one.

        Parameters
        ----------
        between : float
            Batches between false alarms, at least, in the mean.
        """
        if not between >= 1:
            raise InputError(f"between must be at least 1 batch, got {between!r}.")
        name = "expected" if self.gap_is_expected else "labelled"
        evidence, _, names = self._evidence(name)
        return restarted_alarms(evidence, names, self.processes[name].wealth.weights, between)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about batches that want a look."""
        return warnings_of(self)

    def compacted(self) -> MonitorState:
        """The same in bounded size: later numbers are ranked among intervals."""
        return replace(
            self, processes={name: one.compacted() for name, one in self.processes.items()}
        )

    def _scaled(self, values: Mapping[str, float]) -> float:
        alpha = self.watched.alpha
        return max(values[name] * (one.budget / alpha) for name, one in self.processes.items())

    def _evidence(self, name: str) -> tuple[NDArray[np.float64], list[int], list[str]]:
        """What each bet of a process made of each look, the units of each, and the names."""
        key = "evidence" if name == "labelled" else "expected_evidence"
        looks = [look for look in self.history if getattr(look, key) is not None]
        each = [1] * len(looks)
        if self.watched.unit == "row":
            each = [look.labelled if name == "labelled" else look.rows for look in looks]
        wealth = self.processes[name].wealth
        evidence = np.array([getattr(look, key) for look in looks], dtype=np.float64)
        return evidence.reshape(len(looks), len(wealth.weights)), each, [one.name for one in looks]

    def to_dict(self) -> dict[str, Any]:
        """What was found, without the numbers: for a person, or for JSON."""
        interval, since = self.gap_interval, self.since
        return {
            "schema": SCHEMA,
            "alarm": self.alarm,
            "alarmed_by": self.alarmed_by,
            "since": None if since is None else since._asdict(),
            "evalue": self.evalue,
            "pvalue": self.pvalue,
            "gap_since": self.gap_since,
            "gap": self.gap,
            "gap_interval": None if interval is None else interval._asdict(),
            "gap_is_expected": self.gap_is_expected if self.history else None,
            "alpha": self.watched.alpha,
            "min_gap": self.watched.min_gap,
            "unit": self.watched.unit,
            "model": self.watched.model,
            "loss": self.watched.loss,
            "seed": self.watched.seed,
            "warnings": list(self.warnings),
            "history": [{key: getattr(look, key) for key in SHOWN} for look in self.history],
        }

    def to_json(self) -> str:
        """The whole state as text: what a state file holds."""
        body = {
            "watched": asdict(self.watched),
            "labels_late": self.labels_late,
            "chain": self.chain,
            "notes": dict(self.notes),
            "history": {key: [getattr(look, key) for look in self.history] for key in COLUMNS},
            "processes": {name: one.fields() for name, one in self.processes.items()},
        }
        return sealed(body, SCHEMA)

    @classmethod
    def from_json(cls, text: str) -> MonitorState:
        """The state that `to_json` wrote; one that was changed since is refused."""
        body = unsealed(text, SCHEMA)
        try:
            watched = body["watched"]
            columns = [body["history"][key] for key in COLUMNS]
            return cls(
                Watched(**{**watched, "quantiles": tuple(watched["quantiles"])}),
                {name: Process.from_fields(one) for name, one in body["processes"].items()},
                tuple(Look(*map(_as_tuple, row)) for row in zip(*columns, strict=True)),
                body["chain"],
                body["labels_late"],
                dict(body["notes"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                "the state is damaged; restore the file from a copy, or start again."
            ) from None

    def to_frame(self) -> Any:
        """The history, one row per look: a polars frame, or a pandas one without polars."""
        from rdiv.samples.frames import new_frame

        looks = self.history
        return new_frame({key: [getattr(look, key) for look in looks] for key in SHOWN})

    def plot(self, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
        """E-values over time, and below them the gaps.

        Parameters
        ----------
        axes : pair of matplotlib axes, optional
            Drawn on new ones without it.
        """
        from rdiv.monitoring.pictures import plot_state

        return plot_state(self, axes)

    def to_html(self, path: Any) -> None:
        """Write the page of this state; see `rdiv watch show --html`."""
        from rdiv.report.watch_view import watch_page

        write_whole_file(path, watch_page(self).encode())

    def headline(self) -> str:
        """The finding in one sentence."""
        return headline(self)

    def details(self) -> list[str]:
        """Lines ``label: value`` behind the headline."""
        return details(self)

    def __str__(self) -> str:
        return "\n".join([self.headline(), *self.details(), *self.warnings])

    def _repr_html_(self) -> str:
        label, lines = "Alarm" if self.alarm else "No alarm", [*self.details(), *self.warnings]
        return short_block(label, self.headline(), lines, tone="worse" if self.alarm else "none")


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
