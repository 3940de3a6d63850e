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
    command holds for that one and wins. Commands of commands have tables in tables.

    Parameters
    ----------
    found : SettingsFile
    commands : mapping of str to command
        Commands by name, as the parser has them.
    """
    known = {name for command in commands.values() for name in _all_options(command)}
    everywhere = {}
    for key, value in found.values.items():
        if key in commands:
            continue
        if _spelled(key) not in known:
            _refuse(found, key, [*sorted(known), *commands])
        everywhere[_spelled(key)] = value
    return {
        name: _defaults(found, command, everywhere, found.values.get(name, {}), name)
        for name, command in commands.items()
    }


def _defaults(
    found: SettingsFile, command: Any, outside: Mapping[str, Any], table: Any, name: str
) -> dict[str, Any]:
    """Defaults of one command, and of those below it, from its table and what holds outside."""
    if not isinstance(table, dict):
        raise InputError(f"{name!r} in {found.name} must be a table, got {table!r}.")
    own, below = _options(command), getattr(command, "commands", {})
    given = {_spelled(key): value for key, value in table.items() if key not in below}
    known = {*own, *(option for one in below.values() for option in _all_options(one))}
    for key in given:
        if key not in known:
            _refuse(found, f"{name}.{key}", [f"{name}.{option}" for option in sorted(known)])
    whole = {**outside, **given}
    values = {key: _value(found, key, whole[key], own[key]) for key in whole if key in own}
    return values | {
        key: _defaults(found, one, whole, table.get(key, {}), f"{name}.{key}")
        for key, one in below.items()
    }


def _all_options(command: Any) -> set[str]:
    """Names of the options of a command and of those below it."""
    below = getattr(command, "commands", {}).values()
    return {*_options(command), *(name for one in below for name in _all_options(one))}


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
    command, known, values = None, commands, dict[str, Any](defaults)
    for word in given:  # rdiv watch start ...: the last command that is named
        if word not in known:
            break
        command, values = known[word], values.get(word, {})
        known = getattr(command, "commands", {})
    whole = list(given)
    options = {} if command is None else _options(command)
    for key in (name for name in options if name in values):
        option, value = options[key], values[key]
        typed = any(word.partition("=")[0] in option.opts for word in given)
        if typed or value is False:
            continue
        for item in value if option.multiple else [value]:
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
