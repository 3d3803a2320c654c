"""How much of everything is done."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Counts of rows and jobs for one round; ``rounds`` is how often all of it is done."""

    rounds: int = 3
    single: int = 2_000  # one statement and one commit each
    bulk: int = 50_000
    drained: int = 20_000
    backlog: int = 200_000  # of future rows, and again of finished ones
    seen: int = 300_000  # by a transaction that is open, as ready rows
    pickups: int = 200
    idle_seconds: float = 10.0
    shared: int = 50_000  # by several processes
    deaths: int = 3


FULL = Scale()
QUICK = Scale(
    rounds=1,
    single=50,
    bulk=1_000,
    drained=500,
    backlog=2_000,
    seen=2_000,
    pickups=5,
    idle_seconds=1.0,
    shared=500,
    deaths=1,
)
