# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: setup demo test simulate soak mutate check lowest pythons bench docs fmt lock clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==0.13.7"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[all]' --group dev
	@touch $@

demo: setup  # AFRESH=1 forgets what was done before; PORT=… is another port than 8765
	@$(BIN)/python -m examples.tour$(if $(AFRESH), --afresh)$(if $(PORT), --port $(PORT))

# Tests start hundreds of programs: where Python may not write its cache, each would compile everything,
# and each worker the plugins that pytest rewrites.
$(VENV)/.compiled: $(STAMP)
	@$(BIN)/python -m compileall -q -j 2 $(VENV)/lib || true
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -q tests/test_charset.py > $@ || true
	@touch $@

# One worker more than there are cores: a fifth of their time tests wait for servers and browsers.
test: check $(VENV)/.compiled
	@$(BIN)/python -m compileall -q -j 2 src tests examples || true
	@$(BIN)/python -m pytest -n 3 --dist loadgroup --inline-snapshot=disable

simulate: setup  # SCENARIO=… for some seeds; with SEED=… that one, and its trace
	@$(BIN)/python -m toolwright.testing.simulation tests.simulation.scenarios:$(SCENARIO) $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),300))

soak: setup  # simulate everything with new seeds for so many SECONDS
	@$(BIN)/python -m tests.simulation.soak $(or $(SECONDS),600)
	@TOOLWRIGHT_FUZZ_SEED=$$(date +%s) TOOLWRIGHT_FUZZ_TIMES=8 $(BIN)/python -m pytest -q tests/execution/test_bash_fuzz.py

mutate: setup  # change N lines (of files named ONLY), one at a time, and see whether a test notices
	@$(BIN)/python scripts/mutate.py --count $(or $(N),50) --seed $(or $(SEED),0) --only "$(ONLY)"

check: setup
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyrefly check --summary=none
	@$(BIN)/lint-imports --no-cache --no-logo

lowest: setup  # the tests with the lowest versions that pyproject.toml allows
	@$(BIN)/python scripts/environments.py lowest -n 2 --dist loadgroup

pythons: setup  # the core's tests on every Python from 3.11 to 3.14 that this machine has
	@$(BIN)/python scripts/environments.py pythons

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
