# Every target sets up what it needs; `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv
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

.PHONY: demo test bench compare gallery lint paper clean

# Made anew only when the dependencies change: a second `make test` starts at once.
$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bitfold needs Python 3.11 or newer; try make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(STAMP)
	mkdir -p out
	$(BIN)/bitfold demo --out out/demo.html

# Pure computation runs on two cores side by side; what looks at time, memory or processes by itself.
PURE := tests/contract tests/embedding tests/hashers tests/kernels tests/metrics

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal $(PURE)
	$(BIN)/python -m pytest $(PURE:%=--ignore=%)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# Every method at four code lengths, and the page of it; what docs/compare.jsonl has is not run again.
compare: $(STAMP)
	for data in mnist manifold-10 manifold-16 manifold-32 manifold-64; do \
	  $(BIN)/bitfold compare $$data --records docs/compare.jsonl && \
	  $(BIN)/bitfold compare $$data --records docs/compare.jsonl --bits 9 --methods labels \
	  || exit 1; done
	$(BIN)/python -m bitfold.experiments.comparison docs
	$(BIN)/python -m bitfold.experiments.published docs

gallery: $(STAMP)
	$(BIN)/python -m bitfold.experiments.gallery docs

paper: $(STAMP)
	$(BIN)/python -m pytest -m paper -s -v tests/paper tests/features

clean:
	rm -rf $(VENV) out build dist
