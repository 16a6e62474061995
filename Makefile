PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
JOBS   ?= 2
# More arguments of pytest: make test PYTEST_ARGS='-m "not slow"'
PYTEST_ARGS ?=

# Seconds of `make attack`, and its seed; without one it is a new one every time.
ATTACK_SECONDS ?= 1800
ATTACK_SEED ?=

.PHONY: install demo test attack lint format bench docs house clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt $(wildcard src/gsina/ops/*.[ch])
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gsina needs Python 3.11 or newer: make PYTHON=python3.11 install")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	# torch first: alone, the pinned version is taken as it is, not the newest with its GPU packages
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet "torch==$$(sed -n 's/^torch==//p' constraints.txt)"
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet -e ".[mol,images,tune,cluster,dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python -m gsina demo

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

attack: $(STAMP)
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m attack --seconds $(ATTACK_SECONDS) \
		$(if $(ATTACK_SEED),--seed $(ATTACK_SEED)) --out results/attack.json
	$(BIN)/python -m docs.reliability

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	$(BIN)/python -m docs.site

house: $(STAMP)
	$(BIN)/python -m docs.house

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
