"""``python -m rdiv`` is the command `rdiv`."""

from rdiv.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
