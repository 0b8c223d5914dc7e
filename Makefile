# make demo   run the main job on real input          make test    the whole test suite
# make check  formatter, linter, types                make bench   what the README's numbers rest on (DATA=FOLDER: more)
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
KG_ENV = env -u KG_STORE -u KG_RUN -u KG_AGENT

.PHONY: demo test check bench coverage clean

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kg needs Python 3.11 or later: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	# a plain .pth: the finder of a default editable install costs every start 14 ms (GIT facts, 1)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --config-settings editable_mode=compat --editable '.[dev]'
	touch $@

demo: $(VENV)/ready
	$(KG_ENV) $(BIN)/python scripts/demo.py

test: $(VENV)/ready
	$(KG_ENV) $(BIN)/python -m pytest -n auto

check: $(VENV)/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/ready
	$(BIN)/python scripts/bench/cold_recall.py
	$(BIN)/python scripts/bench/commit.py
	$(BIN)/python scripts/bench/secrets.py
	$(BIN)/python scripts/bench/tried.py
	$(BIN)/python scripts/bench/warm_recall.py
ifdef DATA
	$(BIN)/python scripts/bench/names.py --data $(DATA)
	$(BIN)/python scripts/bench/resolve.py $(DATA)/er
	$(BIN)/python scripts/bench/retrieval --data $(DATA)/retrieval
	$(BIN)/python scripts/bench/peers.py --data $(DATA) --with $(VENV)/peers
endif

coverage: $(VENV)/ready
	COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml $(BIN)/coverage run -m pytest -n 0 -m "not slow"
	$(BIN)/coverage combine -q && $(BIN)/coverage report

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .coverage*
