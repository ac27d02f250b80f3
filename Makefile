# Every command a contributor needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Test workers, one per processor: `make test WORKERS=0` runs every test in one process.
WORKERS ?= auto
PARALLEL := --numprocesses $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-minimum checkpoint-05 test-clients test-views test-litellm test-ray litellm-report lint types coverage gates docs bench bench-peers clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP) ## run the two-turn tool round trip against the mock provider
	$(BIN)/python examples/tool_roundtrip.py

test: $(STAMP) ## run the default tests
	$(BIN)/python -m pytest $(PARALLEL)

test-slow: $(STAMP) ## run the long tests: mutations, load, churn
	$(BIN)/python -m pytest $(PARALLEL) -m "slow and not live"

test-minimum: ## the default tests with the least versions of all dependencies, in an environment of their own
	PYTHON=$(PYTHON) tests/minimum/run $(PARALLEL)

checkpoint-05: $(STAMP) ## run the fixture provider's focused test, alone and without a network
	$(BIN)/python -m pytest tests/fixture/test_provider_adapter.py

test-clients: $(STAMP) ## the official openai, anthropic and ollama clients as witnesses, in an environment of their own
	VENV=$(VENV) PYTHON=$(PYTHON) tests/clients/run clients

test-views: $(STAMP) ## Pi's and ai's npm packages read a thousand random streams of views; skips without node and npm
	$(BIN)/python tests/clients/run_views.py

test-litellm: $(STAMP) ## judge the adapter litellm with the conformance kit, in an environment of its own
	VENV=$(VENV) PYTHON=$(PYTHON) tests/clients/run litellm

test-ray: ## batches on Ray, two workers and one killed, in an environment of its own
	PYTHON=$(PYTHON) tests/batch/ray/run

litellm-report: $(STAMP) ## the same, and renew the report on docs/adapters-litellm.md
	VENV=$(VENV) PYTHON=$(PYTHON) tests/clients/run litellm --write

lint: $(STAMP) ## style, imports between layers, docstrings of tests
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/lint-imports importlinter.ini
	$(BIN)/interrogate --quiet --config pyproject.toml --whitelist-regex '^test_.*' tests

types: $(STAMP) ## mypy strict and pyright strict
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

coverage: $(STAMP) ## default and long tests with per-file coverage gates
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest $(PARALLEL) -m "not live and not browser"
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage json --quiet -o coverage-report.json
	$(BIN)/python tests/architecture/coverage_gate.py coverage-report.json

gates: lint types coverage ## every gate that CI holds, in one command

docs: ## the site, into build/site, in an environment of its own
	[ -x .venv-docs/bin/mkdocs ] || { $(PYTHON) -m venv .venv-docs && .venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'; }
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet

bench: $(STAMP) ## limen and the floor, one run, ratios
	$(BIN)/python benchmarks/run.py

bench-peers: $(STAMP) ## the same with the peers, each in an environment of its own
	$(BIN)/python benchmarks/run.py --peers

clean: ## remove the environments and caches
	rm -rf $(VENV) .venv-* .mypy_cache .ruff_cache .pytest_cache .coverage* build dist
