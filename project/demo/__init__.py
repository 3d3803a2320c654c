"""The show that ``manage.py demo`` puts on: real jobs, real workers, and a line for each thing that happens."""
