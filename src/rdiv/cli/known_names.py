"""The names that help texts list, without importing what they stand for."""

from __future__ import annotations

import ast
from pathlib import Path

import rdiv

__all__ = ["known_names"]


def known_names(package: str) -> list[str]:
    """The keys of ``BY_NAME`` in a package of rdiv, in order.

    They are read from its source, because importing models and sources would slow down --help.

    Examples
    --------
    >>> print(known_names("sources")[:2])
    ['blob', 'hdgm']
    """
    source = Path(rdiv.__file__).with_name(package) / "__init__.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.value, ast.Dict):
            continue
        if isinstance(node.target, ast.Name) and node.target.id == "BY_NAME":
            return [str(ast.literal_eval(key)) for key in node.value.keys if key is not None]
    raise LookupError(f"no BY_NAME in rdiv.{package}")
