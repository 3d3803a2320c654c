"""A visitor of the admin who follows every link and searches wherever there is a box for it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from django.test import Client

START = "/admin/jobs/"
TERMS = ("1", "noop", "order:7")
# Filters whose every value is a page of its own; of all others one value will do.
TOLD_APART = {"state", "condition", "standing"}
KEPT = "_changelist_filters"


def crawl(client: Client, *starts: str) -> Iterator[tuple[str, Any]]:
    """Yield the address and the answer of each page below ``START``; of pages that differ in a row only, one."""
    seen: set[Any] = set()
    to_come = [START, *starts]
    while to_come:
        address = to_come.pop(0)
        if not seen.isdisjoint({address} if address in starts else {_sort(address)}):
            continue
        seen |= {address, _sort(address)}
        response = client.get(address)
        yield address, response
        to_come += [link for link in _links(address, response) if link.startswith(START)]


def _sort(address: str) -> Any:
    parts = urlsplit(address)
    query = {(name, _value(name, value)) for name, value in parse_qsl(parts.query)}
    return re.sub(r"/\d+/", "/1/", parts.path), frozenset(query - {(KEPT, "")})


def _value(name: str, value: str) -> str:
    if name == KEPT:
        # A page that was come to from one tab alone.
        return value if [each for each, _ in parse_qsl(value)] in [[told] for told in TOLD_APART] else ""
    return value if name in TOLD_APART else ""


def _links(address: str, response: Any) -> Iterator[str]:
    if response.status_code != 200 or response.streaming or not response["Content-Type"].startswith("text/html"):
        return
    content = response.content.decode().partition('id="content"')[2]
    for link in re.findall(r'href="([^"#]+)"', content):
        yield urljoin(address, html.unescape(link))
    if 'id="searchbar"' in content:
        for term in TERMS:
            yield urljoin(address, "?" + urlencode({"q": term}))
