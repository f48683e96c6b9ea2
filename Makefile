# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: setup demo test check bench docs fmt lock clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==0.13.7"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[all]' --group dev
	@touch $@

demo: setup
	@$(BIN)/python -m examples.tour

test: check
	@$(BIN)/python -m pytest -n 2 --dist loadgroup --inline-snapshot=disable

check: setup
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyrefly check --summary=none
	@$(BIN)/lint-imports --no-cache --no-logo

fmt: setup
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --fix --quiet .

bench: setup
	@$(BIN)/python -m bench

docs: setup
	@$(BIN)/zensical build --strict

lock:  # after a change of dependencies
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header --all-extras --group dev pyproject.toml -o constraints.txt

clean:
	rm -rf $(VENV) .venvs .cache site dist
