"""rdiv watch: a monitor in a file; start it, add batches to it, show it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from rdiv.cli.compare_options import HtmlFile, Predictions
from rdiv.cli.display import Summary, show, stages
from rdiv.cli.help_groups import GroupedCommand
from rdiv.cli.inputs import STANDARD_INPUT, Input, in_partitions, read_input
from rdiv.cli.model_in_use import AskedModel
from rdiv.cli.options import (
    DataDir,
    Drop,
    JsonFile,
    ModelText,
    Seed,
    Target,
    Task,
)
from rdiv.cli.outputs import STANDARD_OUTPUT, check_destination, deliver, write_whole
from rdiv.cli.own_code import reporting_user_errors
from rdiv.cli.state_files import from_state, only_writer, read_state, to_state, write_state
from rdiv.cli.watch_options import (
    BatchColumn,
    Batches,
    BatchName,
    Between,
    Compact,
    FailOnAlarm,
    OtherReference,
    SmallestGap,
    State,
    Unit,
    WatchedLevel,
    WatchedLoss,
    WatchedReference,
    WatchedShare,
)
from rdiv.errors import InputError

if TYPE_CHECKING:
    from rdiv.monitoring.monitor import Monitor
    from rdiv.monitoring.state import MonitorState

__all__ = ["watch_app"]

watch_app = typer.Typer(
    help="Watch batches one by one, at one false-alarm rate for all.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

LAST_LOOKS = 8


@watch_app.command("start", cls=GroupedCommand)
def start_watching(
    reference: WatchedReference,
    state: State,
    target: Target = None,
    model: ModelText = None,
    prediction: Predictions = None,
    loss: WatchedLoss = None,
    drop: Drop = None,
    task: Task = None,
    train_share: WatchedShare = None,
    unit: Unit = "row",
    batches: BatchColumn = None,
    min_gap: SmallestGap = None,
    alpha: WatchedLevel = 0.05,
    seed: Seed = 0,
    data_dir: DataDir = None,
) -> None:
    """Start a monitor: settle the model, its losses on REFERENCE, and the level.

    All settings are made here and kept in the state file, which holds no row of the data. REFERENCE
    is read again when batches are added, so it has to stay where it is.
    """
    _check_start(reference, state, min_gap)
    options: dict[str, Any] = {
        "model": _kept_model(model, state), "prediction": prediction, "loss": loss,
        "target": target, "drop": drop or [], "task": task, "train_share": train_share,
        "unit": unit, "batches": batches, "min_gap": min_gap, "alpha": alpha, "seed": seed,
    }  # fmt: skip
    with stages() as stage, only_writer(state):
        if os.path.exists(state):
            raise InputError(f"{state} is there already; name another file, or remove it first.")
        stage("reading")
        sample = read_input(reference, data_dir, large=True)
        stage("fitting")
        with reporting_user_errors(*([model] if model and ":" in model else [])):
            found = _monitor(sample, options, state).start()
        notes = {"reference": from_state(_found(reference, data_dir), state), "options": options}
        stage("writing")
        write_state(state, replace(found, notes=notes))
    show(_summary(found, state))


@watch_app.command("add", cls=GroupedCommand)
def add_batches(
    context: typer.Context,
    batch: Batches,
    state: State,
    reference: OtherReference = None,
    name: BatchName = None,
    html: HtmlFile = None,
    fail_on_alarm: FailOnAlarm = False,
    compact: Compact = False,
    data_dir: DataDir = None,
    json: JsonFile = None,
) -> None:
    """Add batches to a monitor, in order, and say whether the alarm is raised.

    All batches are added, or none where one of them is refused. A name that is there already is
    refused, unless the batch differs from that one only in labels that have come since.
    """
    if name is not None and len(batch) > 1:
        raise InputError(
            f"--name is for one batch, got {len(batch)}; leave it out, and the names of the files "
            "are taken."
        )
    _check_outputs(json, html, state, *batch)
    with stages() as stage, only_writer(state):
        stage("reading")
        found = read_state(state)
        options = found.notes["options"]
        kept = to_state(found.notes["reference"], state) if reference is None else reference
        sample = _read_reference(kept, data_dir)
        inputs = [read_input(path, data_dir, large=True) for path in batch]
        stage("fitting")
        own = options["model"]
        with reporting_user_errors(*([own] if own and ":" in own else [])):
            monitor = _monitor(sample, options, state)
            found = _with_batches(monitor, found, inputs, name)
        found = found.compacted() if compact else found
        stage("writing")
        write_state(state, found)
        _write_page(html, found, context.find_root().obj)
    deliver(json, _document(found), lambda: show(_summary(found, state, html)))
    if fail_on_alarm and found.alarm:
        raise typer.Exit(1)


@watch_app.command("show", cls=GroupedCommand)
def show_state(
    context: typer.Context,
    state: State,
    html: HtmlFile = None,
    between: Between = None,
    json: JsonFile = None,
) -> None:
    """Show what a monitor has found, without adding anything."""
    _check_outputs(json, html, state)
    found = read_state(state)
    _write_page(html, found, context.find_root().obj)
    more = [] if between is None else [_restarted(found, between)]
    deliver(json, _document(found), lambda: show(_summary(found, state, html, more)))


def _check_start(reference: str, state: str, min_gap: float | None) -> None:
    if reference == STANDARD_INPUT:
        raise InputError(
            "REFERENCE is read again when batches are added, got standard input; give a file."
        )
    check_destination(state, reference)
    if state == STANDARD_OUTPUT:
        raise InputError("--state needs the name of a file, got -.")
    if min_gap is not None and not (math.isfinite(min_gap) and min_gap >= 0):
        raise InputError(f"--min-gap must be 0 or more, got {min_gap}.")


def _check_outputs(json: str | None, html: str | None, state: str, *samples: str) -> None:
    check_destination(json, state, *samples)
    check_destination(html, state, *samples)
    if html == STANDARD_OUTPUT:
        raise InputError("--html needs the name of a file, got -; standard output is for --json.")
    if html is not None and html == json:
        raise InputError(f"--html and --json cannot both be {html}; choose another name for one.")


def _found(path: str, data_dir: str | None) -> str:
    """Where a file is that may have been found in the folder of data files."""
    from rdiv.samples.files import find_file

    if in_partitions(path):
        return path
    file, mark, inside = path.partition("::")
    return os.fspath(find_file(file, data_dir=data_dir)) + mark + inside


def _kept_model(model: str | None, state: str) -> str | None:
    return from_state(model, state) if model and model.endswith(".onnx") else model


def _read_reference(path: str, data_dir: str | None) -> Input:
    try:
        return read_input(path, data_dir, large=True)
    except FileNotFoundError:
        raise InputError(
            f"the reference is not at {path} any more; say where it is with --reference."
        ) from None


def _monitor(sample: Input, options: dict[str, Any], state: str) -> Monitor:
    from rdiv.monitoring.monitor import Monitor

    text = options["model"]
    if text and text.endswith(".onnx"):
        text = to_state(text, state)
    asked = AskedModel(
        [text] if text else (), options["prediction"] or (), options["loss"], None, None,
        options["train_share"],
    )  # fmt: skip
    asked.check(1, None)
    settings = asked.settings(set(getattr(sample.sample, "columns", ())))
    models = asked.built(None, options["target"], ())
    settings |= {
        name: options[name]
        for name in ("target", "drop", "task", "unit", "batches", "min_gap", "alpha")
    }
    return Monitor(
        sample.sample, model=next(iter(models.values()), None), rng=options["seed"], **settings
    )


def _with_batches(
    monitor: Monitor, state: MonitorState, inputs: Sequence[Input], name: str | None
) -> MonitorState:
    for one in inputs:
        own = one.name if name is None else name
        try:
            state = monitor.update(state, one.sample, name=own)
        except InputError as error:
            if len(inputs) == 1:
                raise
            raise InputError(f"{one.source}: {error} Nothing was added.") from None
    return state


def _document(state: MonitorState) -> str:
    import json

    return json.dumps(state.to_dict(), ensure_ascii=False, allow_nan=False, indent=2)


def _write_page(html: str | None, state: MonitorState, typed: Sequence[str] | None) -> None:
    if html is None:
        return
    from datetime import date
    from shlex import join

    from rdiv.report import Provenance, versions
    from rdiv.report.watch_view import watch_page

    command, today = join(["rdiv", *(typed or [])]), date.today().isoformat()
    write_whole(html, watch_page(state, Provenance(command, versions(), (), date=today)))


def _restarted(state: MonitorState, between: float) -> str:
    names = state.alarms(between)
    shown = ", ".join(names[-LAST_LOOKS:]) if names else "none"
    return f"alarms with restarts: {len(names)} ({shown}), at least {between:g} batches apart in " \
        "the mean if nothing changes"  # fmt: skip


def _summary(
    state: MonitorState, path: str, html: str | None = None, more: Sequence[str] = ()
) -> Summary:
    from rdiv.monitoring.words import NOT_FINDING

    lines = [*state.details(), *more, *(f"warning: {text}" for text in state.warnings[-3:])]
    lines += [_line(look) for look in state.history[-LAST_LOOKS:]]
    lines.append(f"state: {path}")
    if html is not None:
        lines.append(f"page: {html}")
    remarks = [] if state.alarm or not state.history else [NOT_FINDING]
    colour = "red" if state.alarm else "none"
    return Summary("rdiv watch", state.headline(), lines, remarks, colour)


def _line(look: Any) -> str:
    parts = [f"{look.rows} rows" if not look.late else f"labels of {look.labelled} rows"]
    if not look.late and look.labelled < look.rows:
        parts.append(f"{look.labelled} with labels")
    if look.gap is not None:
        parts.append(f"gap {look.gap:+.3g}")
    elif look.expected_gap is not None:
        parts.append(f"expected gap {look.expected_gap:+.3g}")
    parts.append(f"e-value {look.evalue:.3g}{', alarm' if look.alarm else ''}")
    return f"{look.name}: {', '.join(parts)}"
