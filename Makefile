# Targets that people use; `make help` lists them. CI runs `make check`.
VENV := .venv
PYTHON := $(VENV)/bin/python
DEMO := $(VENV)/.stamp-demo
DEV := $(VENV)/.stamp-dev
PINNED := pyproject.toml constraints.txt
INSTALL := $(PYTHON) -m pip install --quiet --constraint constraints.txt --editable

# Two processes of one thread each: small fits are far slower when they fight for cores.
test test-slow check calibrate bench fuzz: export OMP_NUM_THREADS := 1
test test-slow check calibrate bench fuzz: export OPENBLAS_NUM_THREADS := 1
test test-slow check calibrate bench fuzz: export MKL_NUM_THREADS := 1
# The tests start many processes; with bytecode on disk they do not all compile rdiv again.
test test-slow check: export PYTHONDONTWRITEBYTECODE :=
# Each process takes half of the files in their order, so that what a file computes once is computed
# once, and then takes from the other what that one has left.
PYTEST := $(PYTHON) -m pytest -n 2 --dist worksteal
check docs: export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow test-cpus fuzz check calibrate docs bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(DEV) ## a complete .venv: every extra and the development tools

demo: $(DEMO) ## three pairs of samples side by side, in under a minute
	$(VENV)/bin/rdiv demo

test: $(DEV) ## tests and doctests, without the long calibration
	$(PYTEST)

test-slow: $(DEV) ## the tests that `make test` leaves out: long counts, full networks
	$(PYTEST) -m slow

test-cpus: $(DEV) ## the tests that train, under every instruction set of this CPU, with 1 and 2 threads
	$(PYTHON) tools/instruction_sets.py

fuzz: $(DEV) ## odd files, arguments and calls for FUZZ_MINUTES minutes (10), new ones each time
	$(PYTHON) tools/fuzz.py

check: $(DEV) ## all that CI runs: format, lint, types, tests, documentation
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTEST)
	$(PYTHON) -m mkdocs build --strict
	$(PYTHON) tools/site_check.py site

calibrate: $(DEV) ## count false alarms at length and rewrite docs/measured (for MINUTES minutes; goes on where it was)
	$(PYTHON) tools/calibrate.py $(if $(MINUTES),--minutes $(MINUTES))

docs: $(DEV) ## regenerate every generated page and picture, and build site/
	$(PYTHON) tools/docs.py
	$(PYTHON) -m mkdocs build --strict

bench: $(DEV) ## run every benchmark in turn
	@set -e; for script in benchmarks/speed/bench_*.py; do echo "== $$script"; $(PYTHON) $$script; done

clean: ## remove what the other targets made, except .venv
	rm -rf build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The development environment holds all that the demo needs, so it stands for both stamps.
$(DEV): $(PINNED) $(VENV)/pyvenv.cfg
	$(INSTALL) ".[all,dev]"
	@touch $(DEMO) $@

$(DEMO): $(PINNED) $(VENV)/pyvenv.cfg
	$(INSTALL) ".[cli]"
	@touch $@

# Each candidate is run, not only looked up: a version manager may offer a python3.11 it does not have.
$(VENV)/pyvenv.cfg:
	@for python in python3.11 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	echo "rdiv needs Python 3.11 or newer and found neither python3.11 nor such a python3 on PATH;" \
	  "install one and run make again." >&2; exit 1
