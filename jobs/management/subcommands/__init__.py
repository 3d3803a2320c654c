"""The parts of ``manage.py jobs``: what each takes, and what it does."""
