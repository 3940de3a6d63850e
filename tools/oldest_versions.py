"""Print the oldest version of every dependency that pyproject.toml allows, as pip constraints.

python tools/oldest_versions.py > oldest.txt
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
DEVELOPMENT = "dev"


def oldest() -> list[str]:
    """One ``name==version`` for each dependency, those of development aside."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    wanted += [one for name, more in extras.items() if name != DEVELOPMENT for one in more]
    found = {}
    for requirement in wanted:
        parts = re.fullmatch(r"([A-Za-z0-9_-]+)(?:\[\w+\])?>=([\d.]+)", requirement)
        if parts is not None:
            found[parts[1]] = parts[2]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    sys.stdout.write("\n".join(oldest()) + "\n")
