# The commands of swin_mm. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Whatever is set here, on make's command line or in the environment reaches the scripts.
export PYTHON ?= python3
export BACKBONE ?= swin_mm.SwinTransformer
PYTEST_ARGS ?=
BENCH_ARGS ?=
AUDIT_ARGS ?=

python := .venv/bin/python
# Neighbouring tests share what they set up; a process wants up to 2 GB of memory.
workers := --numprocesses auto --maxprocesses 4 --dist worksteal

.PHONY: help setup train scenes test nightly test-upstream versions audit lint format wheel
.PHONY: peers fixtures test-peers bench zoo docs clean clean-all

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile
	@echo 'Settings, such as PYTHON=python3.11, are listed on top of tools/setup_env.sh.'

setup: ## Build .venv with the tested versions (15 to 20 minutes the first time, then a second)
	@bash tools/setup_env.sh

train: setup ## Train Mask R-CNN on drawn scenes and validate it (12 to 20 minutes of one core)
	@bash tools/offline_job.sh train

scenes: setup ## Draw the scenes that `make train` trains on, into data/scenes (half a minute)
	@bash tools/offline_job.sh scenes

test: lint ## Run the linters and the whole test suite (8 to 15 minutes on two cores)
	@$(python) -m pytest $(workers) $(PYTEST_ARGS)

nightly: setup ## Run what is too long for every change: kills, two processes, fuzz (several hours)
	@$(python) -m pytest $(workers) -m nightly $(PYTEST_ARGS)

test-upstream: ## Run the suite on the original OpenMMLab libraries, in .upstream (first 30 minutes, then 10)
	@bash tools/setup_env.sh upstream
	@.upstream/bin/python -m pytest $(workers) $(PYTEST_ARGS)

versions: setup ## Run the suite on both and print README's table of tested versions (half an hour)
	@bash tools/setup_env.sh upstream
	@for home in .venv .upstream; do \
	  rm -f $$home/report.xml; \
	  $$home/bin/python -m pytest $(workers) --junitxml $$home/report.xml $(PYTEST_ARGS); \
	  $$home/bin/python docs/print_versions.py --record $$home/report.xml; \
	done
	@$(python) docs/print_versions.py --write

.audit/set-up-for: requirements/apart/audit.txt
	@$(PYTHON) -m venv --clear .audit
	@.audit/bin/python -m pip --disable-pip-version-check --no-input -qq install --no-deps -r $<
	@touch $@

audit: .audit/set-up-for ## Look for known vulnerabilities of every pin (a minute; wants the network)
	@.audit/bin/python tools/audit.py $(AUDIT_ARGS)

lint: setup ## Check the style: ruff, and shellcheck where it is installed
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@if command -v shellcheck >/dev/null; then shellcheck tools/*.sh benchmarks/*.sh .ci/run; fi

format: setup ## Let ruff correct the style
	@$(python) -m ruff check --fix .
	@$(python) -m ruff format .

wheel: setup ## Build the wheel of swin_mm into dist/
	@rm -rf build # setuptools would reuse modules that are gone
	@$(python) -m pip wheel -q --no-build-isolation --no-deps -w dist .
	@ls dist/*.whl

peers: setup ## Build the environments of other Swins in .peers (two minutes, 6 GB of disk)
	@bash tools/peers_env.sh

fixtures: setup ## Make tests/fixtures anew by the other Swins themselves (after `peers` two minutes)
	@bash tools/peers_env.sh make

test-peers: peers ## Let the other Swins load what we convert, and compute (two minutes)
	@$(python) -m pytest -m peers $(PYTEST_ARGS)

bench: setup ## Measure the backbone beside other Swins (about 50 minutes on two cores with `peers`)
	@$(python) benchmarks/backbone.py --out benchmarks/results/backbone.json $(BENCH_ARGS)
	@if [[ -f .peers/runtimes/set-up-for ]]; then \
	  PYTHONPATH=. .peers/runtimes/bin/python -W ignore benchmarks/backbone.py $(BENCH_ARGS) \
	    --out benchmarks/results/backbone_peers.json \
	    --peers timm torchvision huggingface openvino onnxruntime; \
	else echo 'bench: skipped timm, torchvision, HuggingFace, OpenVINO and onnxruntime: make peers'; fi
	@$(if $(filter --list,$(BENCH_ARGS)),,$(python) benchmarks/print_backbone.py --write)

zoo: setup ## Take a full-size training step of every config (needs up to 22 GB of memory)
	@$(python) benchmarks/zoo.py --out benchmarks/results/zoo.json $(BENCH_ARGS)
	@$(python) docs/print_zoo.py --write

docs: setup ## Build the pages of docs/ into docs/_build/html, and check every link
	@$(python) -m sphinx -q -W --keep-going -n -b html docs docs/_build/html
	@$(python) -m pytest -q tests/docs/test_site.py -k link

clean: ## Remove what building and testing left behind
	@rm -rf build dist docs/_build .pytest_cache .ruff_cache .hypothesis swin_mm/ops/kernels/*.so
	@find . \( -path ./.venv -o -path ./.peers -o -path ./.upstream -o -path ./.audit \) -prune -o -name __pycache__ -type d -exec rm -rf {} +

clean-all: clean ## Remove the environments and the drawn scenes too; work_dirs and the wheel cache stay
	@rm -rf .venv .peers .upstream .audit data/scenes swin_mm.egg-info
