# Every target sets up what it needs; `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

# Real data beside the repository is used when it is there and the user named none.
ifeq ($(origin BITFOLD_DATA), undefined)
ifneq ($(wildcard ../shared/data/README.md),)
export BITFOLD_DATA := $(abspath ../shared/data)
endif
endif

# No target downloads data; they use what is there.
export BITFOLD_OFFLINE ?= 1

.PHONY: demo test bench compare docs gallery lint paper clean package lowest

# Made anew only when the dependencies change: a second `make test` starts at once.
$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bitfold needs Python 3.11 or newer; try make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(STAMP)
	mkdir -p out
	$(BIN)/python -m reproduction demo --out out/demo.html

# Pure computation is dealt out test by test; files with servers and processes of their own go one to
# a core; what brings several processes or looks at the time runs with nothing beside it.
PURE := tests/testing tests/embedding tests/hashers tests/kernels tests/metrics
ALONE := tests/distributed tests/explorer tests/cli/test_app.py tests/search/test_files.py

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal $(PURE)
	$(BIN)/python -m pytest -n 2 --dist loadfile $(PURE:%=--ignore=%) $(ALONE:%=--ignore=%)
	$(BIN)/python -m pytest $(ALONE)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/python -m pytest tests/test_language.py

# The wheel and the sdist, and both tried in clean environments without extras.
package: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m pytest -m package tests/test_packaging.py

# The lowest versions that pyproject.toml allows, in an environment of their own.
LOWEST := build/lowest/bin/python

lowest: $(STAMP)
	$(BIN)/python -m venv --clear build/lowest
	$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable '.[dev]'
	$(LOWEST) -m pytest -m lowest tests/test_packaging.py
	$(LOWEST) -m pytest -n 2 --dist worksteal $(PURE)
	$(LOWEST) -m pytest tests/search tests/datasets tests/cli tests/explorer/test_api.py \
	  tests/test_persistence.py tests/test_sources.py tests/test_streaming.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# Every method at four code lengths, and their pages; what has a record in docs/ is not repeated.
compare: $(STAMP)
	$(BIN)/python -m reproduction comparison docs
	$(BIN)/python -m reproduction published docs

# The site in out/site, with every link in it checked; what builds it is no part of the tests.
$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

gallery: $(STAMP)
	$(BIN)/python -m reproduction gallery docs
	$(BIN)/python -m reproduction theory docs
	for example in examples/*.py; do \
	  $(BIN)/python $$example docs/images/examples/$$(basename $$example .py).png || exit 1; done

paper: $(STAMP)
	$(BIN)/python -m pytest -m paper -s -v tests/paper tests/features

clean:
	rm -rf .venv .venv-* out build dist
