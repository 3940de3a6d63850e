"""The public names of rdiv as data: packages, registries, signatures and commands.

Objects are known by the public package that offers them, and module paths are left out of
signatures, so that moving a module changes nothing here.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

from tools.golden_data import arrays

_MODULES = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

_CONSTANTS = (bool, int, float, str, tuple)


def public_names() -> dict[str, Any]:
    """Everything public: what packages offer, what it takes, and what commands take."""
    packages = dict(public_packages())
    objects = {
        f"{package}.{name}": described(getattr(import_module(package), name))
        for package, names in packages.items()
        for name in names
        if name != "__version__"
        and not isinstance(getattr(import_module(package), name), ModuleType)
    }
    parts = {cls.__name__: described_class(cls) for cls in sorted(result_types(), key=name_of)}
    return {
        "packages": packages,
        "objects": objects,
        "parts of results": parts,
        "commands": dict(commands()),
    }


def public_packages() -> Iterator[tuple[str, list[str]]]:
    """Rdiv and the packages that it names, each with its public names."""
    root = import_module("rdiv")
    yield "rdiv", sorted(root.__all__)
    for name in root.__all__:
        member = getattr(root, name)
        if isinstance(member, ModuleType):
            yield f"rdiv.{name}", sorted(member.__all__)


def result_types() -> set[type]:
    """Classes of rdiv that users meet inside of results only."""
    import rdiv

    p, q = arrays("p"), arrays("q")
    found = rdiv.compare_many(
        p, {"q": q}, model="ridge", equivalence_margin=1.0, n_resamples=39, rng=0
    )
    types, waiting = set(), [found, rdiv.estimate_gap(p, q, model="ridge", rng=0)]
    while waiting:
        part: Any = waiting.pop()
        if home_of(type(part)) == "rdiv":
            types.add(type(part))
        if dataclasses.is_dataclass(part):
            waiting += [getattr(part, field.name) for field in dataclasses.fields(part)]
        elif isinstance(part, Mapping | tuple):
            waiting += part.values() if isinstance(part, Mapping) else part
    return types


def described(thing: Any) -> Any:
    """What can be said of a public object without its documentation."""
    if isinstance(thing, type):
        return described_class(thing)
    if callable(thing):
        return signature(thing)
    if isinstance(thing, Mapping):
        return {key: name_of(value) for key, value in thing.items()}
    return without_modules(repr(thing))


def name_of(value: Any) -> str:
    """The name of a class, or of the class of an object."""
    return value.__name__ if isinstance(value, type) else type(value).__name__


def described_class(cls: type) -> dict[str, Any]:
    """A class: how it is made, its fields, and its own public members."""
    members = dict(own_members(cls))
    found: dict[str, Any] = {"constructor": signature(cls)}
    if dataclasses.is_dataclass(cls):
        found["fields"] = [field_text(field) for field in dataclasses.fields(cls)]
    found["methods"] = {
        name: signature(getattr(cls, name))
        for name, member in members.items()
        if inspect.isroutine(member) and not is_property(member)
    }
    found["properties"] = [
        name
        for name, member in members.items()
        if is_property(member) or name in fields_of_tuple(cls)
    ]
    found["constants"] = {
        name: member
        for name, member in members.items()
        if isinstance(member, _CONSTANTS) and " " not in str(member)
    }
    return found


def own_members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public members that a class of rdiv defines, as they stand in the class."""
    for name in sorted(dir(cls)):
        if name.startswith("_") or name in getattr(cls, "__dataclass_fields__", {}):
            continue
        home = next((base for base in cls.__mro__ if name in vars(base)), object)
        member = vars(home).get(name)
        if home_of(home) == "rdiv" and home_of(member) != "sklearn":
            yield name, member


def home_of(thing: Any) -> str:
    """The library that a class, a function or a constant comes from."""
    return str(getattr(thing, "__module__", "")).split(".")[0]


def is_property(member: Any) -> bool:
    """Whether a member is read without a call."""
    return isinstance(member, property | cached_property)


def fields_of_tuple(cls: type) -> tuple[str, ...]:
    """The fields of a named tuple."""
    found: tuple[str, ...] = getattr(cls, "_fields", ())
    return found


def field_text(field: dataclasses.Field[Any]) -> str:
    """A field with its type and default."""
    kind = field.type if isinstance(field.type, str) else inspect.formatannotation(field.type)
    default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
    if field.default_factory is not dataclasses.MISSING:
        default = f" = {name_of(field.default_factory)}()"
    return without_modules(f"{field.name}: {kind}{default}")


def signature(thing: Any) -> list[str] | None:
    """Parameters and the type that comes back, one text each; None where Python cannot say."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    lines = [parameter_text(parameter) for parameter in found.parameters.values()]
    return [*lines, f"-> {annotation_text(found.return_annotation)}"]


def parameter_text(parameter: inspect.Parameter) -> str:
    """One parameter; those that go by keyword alone say so."""
    bare = str(parameter.replace(annotation=parameter.empty))
    name, equals, default = bare.partition("=")
    kind = "" if parameter.kind is not parameter.KEYWORD_ONLY else "keyword "
    value = f" = {default}" if equals else ""
    return without_modules(f"{kind}{name}: {annotation_text(parameter.annotation)}{value}")


def annotation_text(annotation: Any) -> str:
    """A type as text, whether it was written as text or not."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    annotation = getattr(annotation, "__forward_arg__", annotation)
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return without_modules(text)


def without_modules(text: str) -> str:
    """Text without module paths and addresses in memory.

    Examples
    --------
    >>> print(without_modules("rng: int | np.random.Generator = <function f at 0x7f>"))
    rng: int | Generator = <function f>
    """
    return _MODULES.sub("", _ADDRESS.sub("", text))


def commands() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every command with its parameters, the commands below it included."""
    from typer.main import get_command

    from rdiv.cli import app

    waiting: list[tuple[str, Any]] = [("rdiv", get_command(app))]
    while waiting:
        path, command = waiting.pop(0)
        yield path, [described_option(parameter) for parameter in command.params]
        below = getattr(command, "commands", {})
        waiting += [(f"{path} {name}", one) for name, one in below.items()]


def described_option(parameter: Any) -> dict[str, Any]:
    """An argument or option of a command."""
    told = {
        "name": parameter.name,
        "kind": parameter.param_type_name,
        "spellings": " ".join([*parameter.opts, *parameter.secondary_opts]),
        "type": annotation_text(parameter.type_descriptor.annotation),
        "default": without_modules(repr(parameter.default)),
    }
    more = {
        "required": parameter.required or None,
        "values": None if parameter.nargs == 1 else parameter.nargs,
        "again": parameter.multiple or None,
        "least": parameter.min,
        "most": parameter.max,
    }
    return told | {key: value for key, value in more.items() if value is not None}
