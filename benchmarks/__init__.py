"""How fast the system is, and what it costs: ``make bench``, or ``python -m benchmarks``."""
