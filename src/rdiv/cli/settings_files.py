"""Settings of commands from files: rdiv.toml, or the table tool.rdiv of pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rdiv.errors import InputError
from rdiv.names import suggestion

__all__ = ["SettingsFile", "defaults_for", "find_settings", "spelled_out"]

OWN_FILE, SHARED_FILE = "rdiv.toml", "pyproject.toml"


class SettingsFile(NamedTuple):
    """Settings, and what messages call the place that they were read from."""

    name: str
    values: Mapping[str, Any]


def find_settings(folder: Path) -> SettingsFile | None:
    """The settings of a folder: those of rdiv.toml, else of [tool.rdiv] in pyproject.toml.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "rdiv.toml").write_text('target = "income"')
    ...     print(find_settings(Path(folder)))
    SettingsFile(name='rdiv.toml', values={'target': 'income'})
    """
    own = _read(folder / OWN_FILE)
    if own is not None:
        return SettingsFile(OWN_FILE, own)
    shared = _read(folder / SHARED_FILE) or {}
    tool = shared.get("tool", {})
    values = tool.get("rdiv") if isinstance(tool, dict) else None
    if values is None:
        return None
    if not isinstance(values, dict):
        raise InputError(f"tool.rdiv in {SHARED_FILE} must be a table, got {values!r}.")
    return SettingsFile(f"{SHARED_FILE} ([tool.rdiv])", values)


def defaults_for(found: SettingsFile, commands: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Defaults of every command, from settings that are spelled like its options.

    A setting at the top holds for every command that has such an option; a table named after a
    command holds for that one and wins.

    Parameters
    ----------
    found : SettingsFile
    commands : mapping of str to command
        Commands by name, as the parser has them.
    """
    options = {name: _options(command) for name, command in commands.items()}
    everywhere = {key: value for key, value in found.values.items() if key not in options}
    known = sorted({key for own in options.values() for key in own})
    for key in everywhere:
        if _spelled(key) not in known:
            _refuse(found, key, [*known, *options])
    defaults: dict[str, dict[str, Any]] = {}
    for name, own in options.items():
        table = found.values.get(name, {})
        if not isinstance(table, dict):
            raise InputError(f"{name!r} in {found.name} must be a table, got {table!r}.")
        for key in table:
            if _spelled(key) not in own:
                _refuse(found, f"{name}.{key}", [f"{name}.{option}" for option in own])
        given = {**everywhere, **table}
        chosen = {_spelled(key): value for key, value in given.items() if _spelled(key) in own}
        defaults[name] = {key: _value(found, key, value, own[key]) for key, value in chosen.items()}
    return defaults


def spelled_out(
    given: Sequence[str], defaults: Mapping[str, Mapping[str, Any]], commands: Mapping[str, Any]
) -> list[str]:
    """A command line with the settings of the file as flags, for a page that says how to repeat it.

    Parameters
    ----------
    given : sequence of str
        What follows ``rdiv``, as typed.
    defaults : mapping
        Of `defaults_for`.
    commands : mapping of str to command
    """
    name = given[0] if given else ""
    whole = list(given)
    for key, value in defaults.get(name, {}).items():
        option = _options(commands[name])[key]
        typed = any(word.partition("=")[0] in option.opts for word in given)
        if typed or value is False:
            continue
        values = value if option.multiple else [value]
        for item in values:
            whole += [option.opts[0]] if option.is_flag else [option.opts[0], str(item)]
    return whole


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path.name} could not be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} is not TOML ({error}); mend or remove it.") from None


def _options(command: Any) -> dict[str, Any]:
    """The options of a command by name; its arguments are always given on the command line."""
    return {
        param.name: param
        for param in command.params
        if param.param_type_name == "option" and param.name != "help"
    }


def _spelled(key: str) -> str:
    return key.replace("-", "_")


def _value(found: SettingsFile, key: str, value: Any, option: Any) -> Any:
    """A value in the shape that the option takes: a list only where it may be repeated."""
    if isinstance(value, dict) or (isinstance(value, list) and not option.multiple):
        raise InputError(f"{key!r} in {found.name} must be one value, got {value!r}.")
    if option.multiple:
        return [str(item) for item in value] if isinstance(value, list) else [str(value)]
    if isinstance(value, bool) != bool(option.is_flag):
        wanted = "true or false" if option.is_flag else "a text or a number"
        raise InputError(f"{key!r} in {found.name} must be {wanted}, got {value!r}.")
    return value


def _refuse(found: SettingsFile, key: str, known: list[str]) -> None:
    hint = suggestion(key, [*known, *(name.replace("_", "-") for name in known)])
    raise InputError(f"{key!r} in {found.name} is no option of rdiv; {hint or 'remove it.'}")
