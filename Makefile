# Triton Workbook. `make` alone prints the verbs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
.DEFAULT_GOAL := help

help:  ## print this list
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# Set-up: one virtual environment, made again only when a dependency file changes.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || { echo "Python 3.10 to 3.13 is needed: make PYTHON=/path/to/python3.12"; exit 2; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing into $(VENV) (once; a few minutes)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[lab,grade,author,test,site]'
	@touch $@

setup: $(STAMP)  ## make the virtual environment .venv (every other verb does it when needed)

# --- course: build and check the notebooks
sync: $(STAMP)  ## exercises/ -> notebooks/, solutions/, autograde/source/
	@$(BIN)/python -m tritonbook.build sync

translate: $(STAMP)  ## Chinese catalogues follow their pages; one is begun by SLUG=53_scan
	@$(BIN)/python -m tritonbook.build translate $(SLUG)

pages: $(STAMP)  ## words, code and lines to write of each page, and what is over the budget
	@$(BIN)/python -m tritonbook.build pages

new: $(STAMP)  ## a template exercise: make new SLUG=53_scan
	@$(BIN)/python -m tritonbook.build new $(SLUG)

page: $(STAMP)  ## all that one page is asked, and a summary: make page SLUG=53_scan [ONLY=mutate]
	@OMP_NUM_THREADS=1 $(BIN)/python -m tritonbook.build page $(SLUG) $(if $(ONLY),--only "$(ONLY)")

execute: $(STAMP)  ## run the solutions on this machine's GPU and keep their outputs: [SLUG=01]
	@$(BIN)/python -m tritonbook.build execute $(SLUG)

check: $(STAMP)  ## generated files up to date, no leaks, stubs compile, types, style
	@$(BIN)/python -m tritonbook.build check
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff check -q --select F821 solutions/*.ipynb
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy --no-error-summary

# --- people
demo: $(STAMP)  ## release, submit, grade and print the sample class
	@$(BIN)/python -m autograde.classroom.demo

exam: $(STAMP)  ## broken kernels to mend, and the key: make exam SEED=7 [TASKS=5 PAGES="0 1 20"]
	@$(BIN)/python -m autograde exam $(SEED) --course exams $(if $(TASKS),--tasks $(TASKS)) --pages "$(PAGES)"

lab: $(STAMP)  ## JupyterLab on your own copy of the notebooks, in work/
	@$(BIN)/tritonbook lab

site: $(STAMP)  ## the course as a static site, in site/_build/html; nothing is fetched
	@$(BIN)/python site/build.py

# --- tests
# A worker for each core, of four at most: one that waits costs less than one more, which imports
# and collects everything once more. One thread in each process: tensors are small, and threads that
# wait for work take it from the others. Bytecode is kept: a hundred processes load the same modules.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q
test: $(STAMP)  ## the test suite (no GPU needed); what was good before and did not change is left out
	@$(PYTEST) -n logical --maxprocesses 4 -m "not gpu and not container and not browser and not system"

test-system: $(STAMP)  ## with other programs: a real browser, stock nbgrader, Slurm
	@$(PYTEST) -n 3 -m "browser or system"

.PHONY: test-all
test-all: $(STAMP)  ## both with nothing shortened or kept, then the container's tests
	@$(PYTEST) -n 4 -m "not gpu and not container" --thorough
	@$(MAKE) --no-print-directory test-container

# One process for each processor, and no more than share a GPU's memory. nproc obeys OMP_NUM_THREADS.
test-gpu: $(STAMP)  ## solutions, mutants and variants, compiled, on this machine's GPU
	@n=$$(env -u OMP_NUM_THREADS nproc); \
	$(BIN)/python -m pytest -q -n $$((n < 16 ? n : 16)) -m "gpu and not timed"
	@$(BIN)/python -m pytest -q -m "gpu and timed"

test-container: $(STAMP)  ## build the container's root for real, run the job scripts under Slurm (root)
	@$(BIN)/python -m pytest -q -m container

mutate: $(STAMP)  ## changes by machine that a check accepts: [SLUG=04_softmax]
	@OMP_NUM_THREADS=1 $(BIN)/python -m tritonbook.build mutate $(SLUG)

kill-matrix: $(STAMP)  ## every mutant, its diagnosis, and which case refused it
	@$(BIN)/python -m tritonbook.build kill-matrix

matrix: $(STAMP)  ## the course on four pairs of torch and Triton; writes the README's table
	@$(BIN)/python -m tritonbook.build matrix

matrix-oldest: $(STAMP)  ## every solution on the oldest supported pair (3 GB to fetch at first)
	@$(BIN)/python -m tritonbook.build matrix --triton 3.2.0 --solutions

compile-check: $(STAMP)  ## solutions compiled for five GPUs, without one: registers, spills, memory
	@$(BIN)/python -m tritonbook.build compile-check

.PHONY: help setup sync translate pages new page execute check demo exam lab site test test-system test-gpu test-container \
	kill-matrix mutate matrix matrix-oldest compile-check
