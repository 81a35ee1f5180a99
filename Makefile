PYTHON ?= python3
VENV := .venv
RUN := "$(CURDIR)/$(VENV)/bin/python"

.PHONY: lab test lint bench record environment

# Open the course in JupyterLab. LAB_ARGS goes to JupyterLab, e.g. LAB_ARGS="--no-browser --port 8890".
lab: environment
	cd notebooks && $(RUN) -m jupyterlab $(LAB_ARGS)

# Lint, unit tests, every notebook, and JupyterLab in a headless browser, on all cores. PYTEST_ARGS narrows it;
# with -n0 in it everything runs in one process, as a debugger wants it.
test: lint
	$(RUN) -m pytest -n auto $(PYTEST_ARGS)

lint: environment
	$(RUN) -m ruff check
	$(RUN) -m tests.notebooks.check_format

# Time the emulator against Numba's simulator, and in the browser from a slider's release to the new picture.
bench: EXTRAS = lab,test,bench
bench: environment
	$(RUN) -m tests.bench
	$(RUN) -m pytest -q tests/browser

# On a GPU: measure the sweeps of every chapter again and write them to data/recorded/.
record: environment
	$(RUN) -m course_lib.record $(RECORD_ARGS)

environment: EXTRAS ?= lab,test
environment:
	@$(PYTHON) .ci/environment.py --extras "$(EXTRAS)"
