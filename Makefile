# Two commands do everything: `make book` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help ready-to-build book pdf release test lint check links bench data clean

SCALE ?= book
# A relative folder of data begins where make was called; the notebooks run in book/.
ifneq ($(LNLIB_DATA),)
override export LNLIB_DATA := $(if $(filter /%,$(LNLIB_DATA)),,$(CURDIR)/)$(LNLIB_DATA)
endif
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# A user's setting for pip that no virtual environment allows.
export PIP_USER := 0
# One BLAS thread a process: the tests and the pages already run a process a core.
export OMP_NUM_THREADS ?= 1
# The first interpreter that runs and is recent enough; `make PYTHON=/path/to/python3` overrides the search.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

# $(call timed,what it does,command): say what is done, do it, say how long it took.
define timed
@echo "== $(1)"; start=$$(date +%s); { $(2); } || { echo "== failed: $(1)" >&2; exit 1; }; \
	echo "== done in $$(($$(date +%s) - start)) s: $(1)"
endef

help:
	@echo "make book   install, execute and render the book (SCALE=smoke|book, now $(SCALE))"
	@echo "make pdf    make book, then print it to one PDF (needs Chromium)"
	@echo "make release  make pdf, then put pages, executed notebooks, rows and PDF into one zip"
	@echo "make test   install and run every test: library, notebooks, pages, browser"
	@echo "make check  lint, format, types, imports, then every test"
	@echo "make links  follow every link of the book (needs the network)"
	@echo "make data   list the data sets and download what is missing"
	@echo "make bench  measure speed and accuracy against peers"
	@echo "make clean  remove what was built (keeps $(VENV) and downloaded data)"

$(READY): pyproject.toml book/pyproject.toml constraints.txt
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "No Python >= 3.11 ('$(PYTHON)' is missing or older). Install one (Debian: apt install python3" \
		"python3-venv; macOS: brew install python@3.11), or name it: make PYTHON=/path/to/python3 ..." >&2; \
		exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "Could not create $(VENV) with $(PYTHON): install its venv module (Debian: apt install python3-venv)." >&2; \
		exit 1; }
	$(call timed,installing into $(VENV) with $(PYTHON) and constraints.txt,$(BIN)/python -m pip install \
		--quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]' --editable './book[build]')
	@touch $@

# What is known to be wrong before anything is installed or run; the build itself looks at the rest.
ready-to-build:
	@case "$(SCALE)" in smoke|book) ;; *) \
		echo "SCALE is '$(SCALE)'; it is smoke or book. Larger runs: python -m lnbook run --help." >&2; exit 2 ;; esac
	@test -z "$$LNLIB_DATA" || test -d "$$LNLIB_DATA" || { echo "LNLIB_DATA names $$LNLIB_DATA, which is not" \
		"a folder. Name the one that holds the data sets, or unset it." >&2; exit 2; }

book: ready-to-build $(READY)
	$(call timed,executing and rendering the book at $(SCALE) scale,LNLIB_SCALE=$(SCALE) \
		$(BIN)/jupyter-book build . -W -n --keep-going)
	@echo "Open $(CURDIR)/_build/html/index.html"

pdf: book
	$(call timed,printing the book,$(BIN)/python book/_ext/pdf.py)

release: pdf
	$(call timed,packing the book,mkdir -p _build/release && cd _build && \
		../$(BIN)/python -m zipfile -c release/lnlib-book-$(VERSION).zip html pdf)

test: ready-to-build $(READY)
	$(call timed,testing the library and the notebooks at smoke scale and their pages,$(BIN)/python -m pytest -n auto \
		--dist worksteal --durations 30 $(if $(CI),--slow))

lint: $(READY)
	$(call timed,linting,$(BIN)/ruff check .)
	$(call timed,checking the format,$(BIN)/ruff format --check .)
	$(call timed,checking the types,$(BIN)/mypy)
	$(call timed,checking who imports whom,$(BIN)/lint-imports --no-logo)

check: lint test

links: $(READY)
	$(call timed,following every link of the book,LNLIB_SCALE=smoke $(BIN)/jupyter-book build . \
		--builder linkcheck --path-output _build/links)

data: $(READY)
	$(call timed,fetching the data sets,$(BIN)/python -m lnbook data --download)

bench: $(READY)
	$(call timed,benchmarking the Fisher matrix,$(BIN)/python benchmarks/fisher.py)
	$(call timed,benchmarking Laplace's evidence,$(BIN)/python benchmarks/evidence.py)
	$(call timed,benchmarking the recurrent networks,$(BIN)/python benchmarks/recurrent.py)
	$(call timed,benchmarking training,$(BIN)/python benchmarks/training.py)
	$(call timed,benchmarking the experiments on sequences,$(BIN)/python benchmarks/sequences.py)

clean:
	$(call timed,removing _build and caches,rm -rf _build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache)
