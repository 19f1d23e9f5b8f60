# `make help` says what there is. Everything happens inside this folder: Python packages in .venv, the front end's in
# frontend/node_modules. A step is not repeated while what it came from is unchanged.

PYTHON ?= python3
ARGS ?=
TORCH ?= torch

BIN := .venv/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
# Of what is installed a tenth is ever imported, and compiled then. To compile all of it takes a minute and a half.
INSTALL := $(PIP) install --no-compile
PACKAGE_FILES := setup.cfg setup.py pyproject.toml $(wildcard build_backend/*.py tb_steptime/trace/kineto/native/*.[ch])
API := frontend/src/api.gen.ts
# The run that the demo opens with and the README shows first: its page explains itself best.
STORY := gpu_num_dataloaders

# A worker for each core, at most 4. A module's tests stay together, because they share servers and traces, and so do all
# tests in a browser (tests/conftest.py); the longest come first.
WORKERS = $(shell $(PYTHON) -c 'import os; print(min(4, os.cpu_count() or 1))')
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder

# Tests import the package a hundred times, in processes of their own: it is compiled once, whatever the user's shell says.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/.bytecode

.DEFAULT_GOAL := help
.PHONY: help demo demo-summaries test test-all fuzz torch check gen golden words traces bench docs screenshots gallery bundle
.PHONY: chromium wheels
MAKEFLAGS += --no-print-directory

help:  ## say what the other words do
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-18s%s\n", $$1, $$2}'

demo: .venv/.demo bundle  ## open the demo recordings in TensorBoard (ARGS="--port 6006 --bind_all" goes to it)
	@TB_STEPTIME_SOURCES=examples $(BIN)/python tools/serve.py demo_logs --run $(STORY) $(ARGS)

# One worker more than cores, because tests wait for servers and pages. Real trainings and pipelines, which are timed, do
# not run here.
test: WORKERS = $(shell $(PYTHON) -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')
test: .venv/.dev bundle chromium  ## run the tests, those in a real browser included (ARGS="-k idle" goes to pytest)
	@$(PYTEST) -m "not live and not laboratory and not crowded" $(ARGS)

test-all: .venv/.dev bundle chromium  ## run every test: also real trainings, every way to start workers, deeper searches
	@$(PYTEST) --hypothesis-profile=deep $(ARGS)

fuzz: .venv/.dev  ## what mutated traces do to the reader and every analysis (ARGS="--cases 100000" for more)
	@$(BIN)/python -m tests.fuzz $(ARGS)

traces: .venv/.python  ## fetch the real traces that some tests run on, into real_traces/ (needs a network)
	@$(BIN)/python -m tools.real_traces $(ARGS)

torch: .venv/.torch  ## install what the recorder's tests need, which is large: torch, torchdata, Lightning, Transformers

check: .venv/.dev  ## check format, types, layers and the front end, side by side; every complaint is printed
	@$(MAKE) --jobs --keep-going --output-sync=target $(CHECKS)

CHECKS := check-types check-frontend check-style check-layers check-api check-words
.PHONY: $(CHECKS)

check-style:
	@$(BIN)/ruff format --check --quiet . || { echo "Mend it with: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .

check-types:
	@$(BIN)/mypy --strict tb_steptime

check-words:
	@$(BIN)/python -m tools.words --check || { echo "Rewrite these: subject first, in the words of the field."; exit 1; }

check-layers:
	@$(BIN)/lint-imports --no-logo

check-api:
	@$(BIN)/python -m tb_steptime.serve.api | diff -u $(API) - || { echo "$(API) is stale. Mend it with: make gen"; exit 1; }

check-frontend:
	@$(BIN)/python -m build_backend.bundle run check
	@$(BIN)/python -m build_backend.bundle run test

gen: .venv/.dev  ## write the tab's TypeScript types from the Python result types
	@$(BIN)/python -m tb_steptime.serve.api > $(API).new && mv $(API).new $(API)

words: .venv/.dev  ## print every sentence that a user can see (ARGS="--find idle" for some)
	@$(BIN)/python -m tools.words $(ARGS)

demo-summaries: .venv/.dev  ## write the summaries beside the demo recordings, after DEFINITIONS was raised
	@$(BIN)/python -m tools.demo_summaries

golden: .venv/.dev  ## write the expected answers in tests/golden; read the difference before you commit it
	@TB_STEPTIME_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q tests/process/test_golden.py tests/process/test_golden_compare.py

bench: .venv/.dev  ## measure reading speed and memory against the peers (ARGS="--size 10GB" for more)
	@$(BIN)/python -m benchmarks.bench $(ARGS)

wheels: .venv/.python  ## build the files of a release into dist/ from the last commit, and try each (needs a network)
	@$(BIN)/python -m tools.wheels dist $(ARGS)

docs: .venv/.docs  ## build the documentation into docs/_build; a warning is an error, and so is a page that loads other hosts
	@$(BIN)/python -m sphinx -q --fail-on-warning --keep-going --fresh-env -d docs/_build/cache docs docs/_build/html
	@$(BIN)/python -m tools.docs.offline docs/_build/html
	@echo "Open docs/_build/html/index.html"

screenshots: .venv/.dev .venv/.docs bundle chromium  ## take the pictures in docs/screenshots (ARGS="host" for some)
	@$(BIN)/python -m tools.docs.screenshots $(ARGS)

gallery: .venv/.dev .venv/.docs bundle chromium  ## all views of 20 runs in both themes, in test-artifacts/gallery (ARGS="host dark" for some)
	@$(BIN)/python -m tools.docs.gallery $(ARGS)

# The tab, built where its sources changed (compared by content, which is quick).
bundle: | .venv/.node
	@$(BIN)/python -m build_backend.bundle

# A browser for the browser tests. Says what is missing instead of failing: the tests decide whether that is an error.
chromium:
	@tools/chromium.sh

.venv/.python:
	@$(PYTHON) tools/venv.py .venv
	@touch $@

# A Node for the front end: PyPI has it as a wheel for machines without one.
.venv/.node: .venv/.python
	@need=$$($(BIN)/python -m build_backend.node); [ -z "$$need" ] || $(INSTALL) "$$need"
	@touch $@

# Editable: what is shown and tested is this folder.
.venv/.demo: $(PACKAGE_FILES) | .venv/.python bundle
	@echo "Installing the package into .venv ..."
	@$(INSTALL) --editable .
	@touch $@

.venv/.dev: $(PACKAGE_FILES) | .venv/.python bundle
	@echo "Installing the package and its tools into .venv ..."
	@$(INSTALL) --editable '.[profiler,dev]'
	@touch $@ .venv/.demo

.venv/.docs: $(PACKAGE_FILES) | .venv/.python bundle
	@echo "Installing the package and what builds its documentation into .venv ..."
	@$(INSTALL) --editable '.[docs]'
	@touch $@

# Apart from the rest, because looking at recordings needs none of it.
.venv/.torch: $(PACKAGE_FILES) | .venv/.dev
	@echo "Installing torch, torchdata, Lightning and Transformers into .venv ..."
	@$(INSTALL) --editable '.[profiler,dev,lightning,transformers]' '$(TORCH)' 'torchdata >= 0.11'
	@touch .venv/.dev .venv/.demo $@
