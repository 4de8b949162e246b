# Every target installs what it needs; `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

# Use the real data next to the repository if they exist and BITFOLD_DATA is not set.
ifeq ($(origin BITFOLD_DATA), undefined)
ifneq ($(wildcard ../shared/data/README.md),)
export BITFOLD_DATA := $(abspath ../shared/data)
endif
endif

# No target downloads data.
export BITFOLD_OFFLINE ?= 1

.PHONY: demo test test-pure bench compare which-code kind-and-order labels docs gallery lint paper clean package lowest power-loss soak fuzz schema reproducible portable page-types page-axe explorer-check integrations onnx-node

# Rebuilt only when the dependencies change.
$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bitfold needs Python 3.11 or newer; try make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(STAMP)
	mkdir -p out
	$(BIN)/python -m reproduction demo --out out/demo.html

# Pure computation is distributed over the cores test by test, next to mypy, which uses one core.
# Tests that share servers or processes are distributed file by file, in the order of their names:
# last come the doctests, many small files, so that no core is idle at the end.
PURE := tests/testing tests/embedding tests/hashers tests/_kernels tests/metrics

test: $(STAMP)
	$(MAKE) --jobs 2 lint test-pure
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(PURE:%=--ignore=%)

test-pure: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal $(PURE)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/python -m pytest tests/test_language.py

# Build the wheel and the sdist, and test both in clean environments without extras.
package: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m pytest -m package tests/test_packaging.py

# Test with the lowest versions that pyproject.toml allows, in a separate environment.
LOWEST := build/lowest/bin/python

lowest: $(STAMP)
	$(BIN)/python -m venv --clear build/lowest
	$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable '.[dev]'
	$(LOWEST) -m pytest -m lowest tests/test_packaging.py
	$(LOWEST) -m pytest -n 2 --dist worksteal $(PURE)
	$(LOWEST) -m pytest -n 2 --dist loadfile tests/io tests/search tests/datasets tests/cli tests/explorer/test_routes.py

# Let the power fail at every call that changes a file; print the number of crash points.
power-loss: $(STAMP)
	$(BIN)/python -m tests.power_loss

# Use an index and kill its writers in a loop; memory and open files must stay flat.
soak: MINUTES ?= 60
soak: $(STAMP)
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

# Fit the same models in processes of all kinds, and compare every byte of what they learned.
reproducible: $(STAMP)
	$(BIN)/python -m tests.reproducibility

# Run the numerical tests on emulated levels of processors, and compare codes between them.
portable: $(STAMP)
	$(BIN)/python -m tests.portable

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# Compare every method at four code lengths, and write the pages; finished runs are not repeated.
compare: $(STAMP)
	$(BIN)/python -m reproduction comparison docs
	$(BIN)/python -m reproduction published docs

# Measure codes by their size, and write docs/which-code.md and the table in the README.
which-code: $(STAMP)
	$(BIN)/python -m reproduction which-code docs --readme README.md

# Measure splits, weights and base sets of DualHasher, and write docs/kind-and-order.md.
kind-and-order: $(STAMP)
	$(BIN)/python -m reproduction kind-and-order docs

# Measure codes from labels, also for classes that were not in training, and write docs/labels.md.
labels: $(STAMP)
	$(BIN)/python -m reproduction labels docs

# Build the site in out/site and check every link; its builder is not needed for the tests.
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
	$(BIN)/python -m pytest -m paper -s -v tests/paper

# Fuzz every reader and the search for MINUTES; guided by coverage where atheris can be installed.
$(VENV)/.fuzz: $(STAMP)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	touch $@

fuzz: MINUTES ?= 10
fuzz: $(VENV)/.fuzz
	$(BIN)/python -m fuzz --minutes $(MINUTES)

# Check a running explorer against its OpenAPI description, in a separate environment.
build/schemathesis/bin/schemathesis:
	$(PYTHON) -m venv build/schemathesis
	build/schemathesis/bin/python -m pip install --quiet --disable-pip-version-check schemathesis

schema: $(STAMP) build/schemathesis/bin/schemathesis
	$(BIN)/python -m fuzz.explorer build/schemathesis/bin/schemathesis

# Check the page of the explorer: its types with tsc, its accessibility with axe-core, both from npm.
build/node/.ready:
	npm install --silent --no-audit --no-fund --prefix build/node typescript@5 axe-core@4
	touch $@

page-types: build/node/.ready
	node build/node/node_modules/typescript/bin/tsc --project tests/explorer

page-axe: $(STAMP) build/node/.ready
	$(BIN)/python -m pytest -m explorer tests/explorer/page/test_accessibility.py

# Use the explorer with MNIST, sentences and a million rows; screenshots are in build/screenshots.
explorer-check: $(STAMP)
	$(BIN)/python -m pytest -m explorer tests/explorer/page/test_large_data.py
	cat build/explorer-speed.json

# Run the acceptance tests of all frameworks, the pages about them and a real model, in a separate
# environment, because their requirements may conflict with others.
INTEGRATIONS := build/integrations/bin/python
ASYNC := -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function

build/integrations/.ready: pyproject.toml
	test -x $(INTEGRATIONS) || $(PYTHON) -m venv build/integrations
	$(INTEGRATIONS) -m pip install --quiet --disable-pip-version-check --editable '.[integrations]'
	touch $@

integrations: build/integrations/.ready
	$(INTEGRATIONS) -m pytest $(ASYNC) -m 'not node' tests/integrations src/bitfold/integrations \
	  tests/test_public_names.py docs/how-to/frameworks.md docs/how-to/onnx.md docs/how-to/sql.md

# Run exported hashers in JavaScript. The scripts of the package would download GPU libraries.
build/onnx-node/.ready:
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix build/onnx-node onnxruntime-node@1
	touch $@

onnx-node: build/integrations/.ready build/onnx-node/.ready
	$(INTEGRATIONS) -m pytest $(ASYNC) -m node tests/integrations/test_onnx.py

clean:
	rm -rf .venv .venv-* out build dist
