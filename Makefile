# What is needed: Python 3.11 or later with venv, and the package index.

PYTHONS := python3.13 python3.12 python3.11 python3
ifndef PYTHON
PYTHON := $(shell .ci/find-python $(PYTHONS))
endif
BIN := .venv/bin
# Much of the suite waits for worker processes, so more runs at a time than there are cores.
PARALLEL := --numprocesses 3

.PHONY: help install demo test long pooler chaos browser themes screenshots messages lint matrix bench bench-admin clean

help: ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

install: .venv/installed ## Make .venv, with all that development needs.

.venv/installed: pyproject.toml .ci/install
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or later with venv among $(PYTHONS)." \
		"On Debian: apt-get install python3-venv. Or name one: make PYTHON=/path/to/python"; exit 1; }
	.ci/install "$(PYTHON)" .venv dev
	@touch $@

demo: install ## Show the system at work until Ctrl-C, or make demo SECONDS=20.
	$(BIN)/python manage.py demo $(if $(SECONDS),--seconds $(SECONDS))

# Whoever has no PostgreSQL still gets a run; CI does not pass without one.
test: install ## Run the suite on PostgreSQL and on SQLite.
	JOBS_TEST_DB=$(if $(CI),postgresql) $(BIN)/pytest $(PARALLEL)
	JOBS_TEST_DB=sqlite $(BIN)/pytest $(PARALLEL) -m "not browser and not chaos and not long and not once"

long: install ## Run the tests that take long, and on SQLite those too that make test does not.
	JOBS_TEST_DB=$(if $(CI),postgresql) $(BIN)/pytest $(PARALLEL) -m long
	JOBS_TEST_DB=sqlite $(BIN)/pytest $(PARALLEL) -m "not browser and not chaos and (long or once)"

# The server is thrown away afterwards, so the test database, which the pooler holds on to, need not be dropped.
pooler: install ## Run the suite through PgBouncer in transaction mode.
	JOBS_TEST_DB=pooler $(BIN)/pytest --reuse-db $(PARALLEL)

chaos: install ## Prove what must survive kills, freezes and outages.
	JOBS_TEST_DB=$(if $(CI),postgresql) $(BIN)/pytest -m chaos
	JOBS_WALKS=100 JOBS_TEST_DB=$(if $(CI),postgresql) $(BIN)/pytest tests/test_lease_machine.py
	JOBS_TEST_DB=sqlite $(BIN)/pytest -m chaos tests/chaos/test_many_workers.py

# Whoever has no Chromium still gets told; CI does not pass without one.
browser: .venv/browsing ## Look at every page of the admin in a browser.
	JOBS_TEST_DB=$(if $(CI),postgresql) $(BIN)/pytest -m browser tests/browser

themes: install ## Steer everything in an admin that wears django-unfold.
	$(BIN)/pip install --quiet --group themes
	JOBS_TEST_DB=$(if $(CI),postgresql) $(BIN)/pytest $(PARALLEL) --ds tests.themed tests/test_admin_permissions.py tests/test_steering.py

screenshots: .venv/browsing ## Take the pictures in docs/images.
	$(BIN)/python -m project.screenshots docs/images

.venv/browsing: .venv/installed
	$(BIN)/pip install --quiet --group browser
	@touch $@

messages: install ## Bring the catalogue of translations up to date with the code.
	cd jobs && ../$(BIN)/django-admin makemessages --locale de --no-location --no-obsolete --no-wrap
	cd jobs && ../$(BIN)/django-admin compilemessages --locale de

lint: install ## Check style, types and migrations.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy jobs
	$(BIN)/python manage.py makemigrations --check --dry-run

matrix: ## Run the suite with every supported Django.
	.ci/matrix

bench: install ## Measure; make bench ARGS=... passes options on.
	$(BIN)/python -m project.postgres $(BIN)/python -m benchmarks $(ARGS)

bench-admin: install ## Measure the admin beside ten million jobs.
	$(BIN)/python -m project.postgres $(BIN)/python -m benchmarks.admin $(ARGS)

# The second folder is where project/postgres.py keeps the data of root's servers.
clean: ## Remove all that the other targets made.
	rm -rf .venv var dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf /var/tmp/django-durable-jobs-$$(printf %s "$(CURDIR)" | sha256sum | cut -c 1-12)-*
