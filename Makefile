# Everything a stranger needs: `make demo` and `make test`. Both set up their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The extras that have tests; `all` has more.
TESTED := polars,pandas,postgres,spark,ibis,charts,ledger,server,sso,mcp
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
LOWEST := .venvs/lowest

.PHONY: demo test test-busy test-lowest java chromium lint types test-long audit bench bench-peers docs clean

demo: $(VENV)/.demo
	$(BIN)/unlisted demo

test: lint types java chromium
	$(BIN)/python -m pytest -m "not long" -n 2 --dist loadfile
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; \
	  then $(MAKE) --no-print-directory test-lowest; \
	  else echo "Not Python 3.11: the lowest versions, which are as old, are not tested."; fi

# Spark needs a Java. Where there is none and we may install packages, take Debian's; else its tests are skipped by name.
java:
	@command -v java >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; } || \
	  echo "No Java: the Spark tests will be skipped."

# The console's tests need a browser: the same way.
chromium:
	@command -v chromium >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } || \
	  echo "No Chromium: the browser tests will be skipped."

# The same beside four busy loops: no test may depend on how fast the machine is.
test-busy: $(VENV)/.test java chromium
	@for loop in 1 2 3 4; do $(BIN)/python -c "while True: pass" & loops="$$loops $$!"; done; \
	trap 'kill $$loops' EXIT INT TERM; \
	$(BIN)/python -m pytest -m "not long" -n 2 --dist loadfile

test-long: $(VENV)/.test
	$(BIN)/python -m pytest

# The main questions on every source, with the lowest version of everything that pyproject.toml declares.
test-lowest: $(LOWEST)/.test java
	UNLISTED_LOWEST=1 $(LOWEST)/bin/python -m pytest tests/lowest -o filterwarnings=default

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

# Ten million runs of every mechanism; its tables are in docs/audit-results.md.
audit: $(VENV)/.test
	$(BIN)/python docs/make_audit.py

bench: $(VENV)/.test
	$(BIN)/python -m bench.everything

bench-peers: $(VENV)/.test
	$(BIN)/python -m bench.peers

docs: $(VENV)/.test
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .venvs build dist site

$(VENV)/.pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "unlisted needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	touch $@

$(LOWEST)/.test: pyproject.toml tests/lowest/requirements.py
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade "pip>=25.1"
	$(LOWEST)/bin/python tests/lowest/requirements.py > $(LOWEST)/requirements.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check --quiet install --requirement $(LOWEST)/requirements.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --editable .
	touch $@

$(VENV)/.demo: $(VENV)/.pip pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable ".[charts]"
	touch $@

$(VENV)/.test: $(VENV)/.pip pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable ".[$(TESTED)]" --group dev
	touch $@
