# The front door. `make run` starts everything, `make test` checks everything; both set up what they need first.
# STEWARD_* variables are passed on, so several instances run side by side with other homes and ports.

PYTHON = $(shell for p in python3 python3.11 python3.12 python3.13 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)

BIN = .venv/bin
SET_UP = python="$(PYTHON)"; \
	[ -n "$$python" ] || { echo "Python 3.11 or newer is needed and was not found; install it, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }; \
	"$$python" requirements/environment.py

# Processes are started over and over by tests, supervision and the CLI: without byte code each compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run dev test lint bench chaos mutation lock setup

help:  ## show the commands
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST)

run:  ## set up what is missing and start Steward
	@$(SET_UP) run && exec $(BIN)/steward up --composition-profile personal

dev:  ## the same, started again whenever a source file changes
	@$(SET_UP) test && exec $(BIN)/watchfiles --sigint-timeout 20 --filter python \
		"$(BIN)/steward up --composition-profile personal" \
		activities adapters assistant contracts domain host runtime store workflows

setup:  ## set up what the tests need
	@$(SET_UP) test
	@$(SET_UP) browser
	@$(SET_UP) confinement

lint: setup  ## ruff, mypy and the import rules
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Three on the two cores of a small machine: tests that kill processes wait for most of their time.
test: lint  ## set up what is missing and check everything
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations 20

bench:  ## measure against bare Temporal and SQLite, with the figures as Markdown
	@$(SET_UP) test >&2
	@$(BIN)/python -m benchmarks

ROUNDS = 20
chaos:  ## kill processes at random moments under load: make chaos ROUNDS=n [SEED=s]
	@$(SET_UP) test >&2
	@$(BIN)/python -m tests.chaos --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))

mutation:  ## change the gate's rules in many small ways; tests/domain has to notice each (an hour, not in make test)
	@$(SET_UP) test >&2
	@$(BIN)/mutmut run
	@$(BIN)/mutmut results

lock:  ## pin the requirements again, with hashes and without index addresses
	@$(SET_UP) test
	@$(SET_UP) lock
