# `just` lists these; each is one or two plain commands.

python := ".venv/bin/python"

_default:
    @just --list

# make .venv with the package, the tests' tools and the checks
setup:
    python3 -m venv .venv
    .venv/bin/pip install -q -e '.[dev]'

# what CI runs before the tests
check:
    .venv/bin/ruff format --check
    .venv/bin/ruff check
    .venv/bin/mypy
    .venv/bin/lint-imports

# format, and mend what can be mended
fix:
    .venv/bin/ruff format
    .venv/bin/ruff check --fix

# all tests, or those named: just test tests/core
test *what:
    {{ python }} -m pytest -n auto {{ what }}

# what a run costs beside a plain loop
bench *options:
    {{ python }} -m benchmarks {{ options }}
