"""A supplier that does not answer, and what is kept of that."""

from __future__ import annotations

import http.client
from dataclasses import replace
from pathlib import Path

from jobs.outcomes import Failure
from jobs.runtime.execution import describe

LOG = "asking acme.example.com for 1,240 prices\nno answer, trying the second address\nno answer"


def silence() -> Failure:
    """Return the failure of a handler that asked for prices, as if it had stood in the shop's own code."""
    try:
        fetch_prices("127.0.0.1", 9)
    except OSError as error:
        failure = describe(error)
        return replace(failure, traceback=failure.traceback.replace(str(Path(__file__).parent), "/srv/shop/prices"))
    raise AssertionError("Somebody answers at port 9.")


def fetch_prices(host: str, port: int) -> bytes:
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/prices")
        return connection.getresponse().read()
    except OSError as error:
        raise ConnectionError("The supplier acme.example.com does not answer.") from error
