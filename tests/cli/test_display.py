"""The panel at several widths, and what is not interpreted in it."""

from __future__ import annotations

import io
import re
import sys

import pytest
from rich.console import Console

from rdiv.cli import display
from rdiv.cli.display import WIDEST, Summary, panel, show, stages, terminal

SUMMARY = Summary(
    "rdiv compare",
    "Risk shift: the model does worse on current, by 0.683 in mean loss.",
    [
        "gap (current - reference): +0.6828, 95 % interval +0.5064 to +0.8592",
        "inputs alone (not part of the verdict): no shift found, p = 0.268",
        "files: [bold]a[/bold].csv (reference), :balloon:.csv (current)",
    ],
    ["Not finding a difference does not show that there is none."],
    "red",
)


def rendered(width: int, **options: object) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, **options)  # type: ignore[arg-type]
    console.print(panel(SUMMARY))
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_panel_fits_and_says_everything(width: int) -> None:
    text = rendered(width, color_system=None)
    lines = text.splitlines()
    assert all(len(line) <= width for line in lines)
    assert lines[2].strip("│ ").startswith("Risk shift")
    words = " ".join(" ".join(line.strip("│ ") for line in lines).split())
    for word in ("+0.5064", "[bold]a[/bold].csv", ":balloon:.csv", "p = 0.268"):
        assert word in words


@pytest.mark.parametrize("width", [60, 80, 100])
def test_what_to_read_first_stands_apart(width: int) -> None:
    lines = ["warning: one", "warning: two", "advice: do it", "gap in use: +1", "rows: 5"]
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, color_system="standard")
    console.print(panel(Summary("rdiv compare", "Found.", lines)))
    shown = [
        line.strip("│ ") for line in re.sub(r"\x1b\[[\d;]*m", "", file.getvalue()).splitlines()
    ]
    body = [" ".join(line.split()) for line in shown[4:-2]]
    assert body == ["warning one", "warning two", "", "advice do it", "", "gap in use +1", "rows 5"]
    assert "\x1b[1;33mwarning" in file.getvalue()  # bold and yellow, beside the word


def test_plain_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal() is None
    show(SUMMARY)
    assert capsys.readouterr().out == str(SUMMARY) + "\n"


def test_panel_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(force_terminal=True, width=140)
    monkeypatch.setattr(display, "terminal", lambda: console)
    show(SUMMARY)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].count("─") > WIDEST - 20
    assert "\x1b[31m" in lines[0]  # a red frame


def test_no_colour_keeps_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = rendered(80)
    assert "\x1b[31m" not in text
    assert "Risk shift" in text


def test_stages_are_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with stages() as stage:
        stage("reading")
    assert capsys.readouterr() == ("", "")


def test_stages_without_an_error_stream(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with stages() as stage:
        stage("reading")
    assert capfd.readouterr() == ("", "")


def test_names_forge_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A column's name may hold line ends and characters that turn text round."""
    forged = Summary("rdiv", "column 'a\nNo shift found'", ["level x\u202e\r\u2028y: 1"], ["b\tc"])
    show(forged)
    assert capsys.readouterr().out.splitlines() == [
        "column 'a\\nNo shift found'",
        "level x\\u202e\\r\\u2028y: 1",
        "b\\tc",
    ]
    file = io.StringIO()
    Console(file=file, width=80).print(panel(forged))
    assert "a\\nNo shift found" in file.getvalue()
