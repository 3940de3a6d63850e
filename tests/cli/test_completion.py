"""Completion in shells: the script they source, and the words it gets."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from tests.cli.conftest import Run

SHELLS = ("bash", "zsh", "fish", "powershell")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("order", ["{0}_source", "source_{0}"])
def test_every_shell_gets_its_script(
    run: Run, monkeypatch: pytest.MonkeyPatch, shell: str, order: str
) -> None:
    monkeypatch.setenv("_RDIV_COMPLETE", order.format(shell))
    ran = run()
    assert (ran.code, ran.err) == (0, "")
    assert "rdiv" in ran.out
    assert f"complete_{shell}" in ran.out


def test_an_unknown_shell_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_RDIV_COMPLETE", "tcsh_source")
    ran = run()
    assert (ran.code, ran.out) == (2, "")
    assert "the shells are bash, zsh, fish" in ran.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "words"), [("rdiv comp", ["compare"]), ("rdiv compare --ta", ["--target", "--task"])]
)
def test_bash_completes(line: str, words: list[str]) -> None:
    asked = f"{sys.executable} -m rdiv"
    script = f"""
        rdiv() {{ {asked} "$@"; }}
        export -f rdiv
        COMP_WORDS=({line}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        env() {{ local pairs=(); while [[ "$1" == *=* ]]; do pairs+=("$1"); shift; done
                 command env "${{pairs[@]}}" {asked}; }}
        eval "$(_RDIV_COMPLETE=bash_source {asked})"
        _rdiv_completion rdiv
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == words
