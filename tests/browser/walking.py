"""All pages of the app in the admin: those that links lead to, and those that only an address leads to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qsl, urljoin, urlsplit

from django.apps import apps
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse

START = "/admin/jobs/"
# Filters that a page remembers for the way back make no other page.
REMEMBERED = {"_changelist_filters", "_popup"}


def pages(client: Client) -> list[str]:
    """Return the addresses of all pages, those that differ only in the values of a query but once."""
    found: dict[object, str] = {}
    left = [START, *_by_name()]
    while left:
        address = left.pop(0)
        if _sort(address) in found:
            continue
        response = client.get(address)
        # A file is no page.
        html = response.content.decode() if response.status_code == 200 and not response.streaming else ""
        if "<html" not in html:
            continue
        found[_sort(address)] = address
        left += _links(address, html)
    return list(found.values())


def _sort(address: str) -> object:
    parts = urlsplit(address)
    query = {name: value for name, value in parse_qsl(parts.query) if name not in REMEMBERED}
    # The list of each state has columns of its own.
    state = query.get("state") if len(query) == 1 else None
    return parts.path, state, frozenset(query)


def _links(address: str, html: str) -> Iterator[str]:
    for link in re.findall(r'<a[^>]*\shref="([^"]*)"', html):
        target = urlsplit(urljoin(address, unescape(link)))
        if target.path.startswith(START) and not target.netloc:
            yield target._replace(fragment="").geturl()


def _by_name() -> Iterator[str]:
    """Yield the address of each page that has a name, for the first row of its model."""
    for model in apps.get_app_config("jobs").get_models():
        if not admin.site.is_registered(model):
            continue
        row = model._default_manager.order_by("pk").first()
        for pattern in admin.site.get_model_admin(model).get_urls():
            args = () if row is None else (row.pk,)
            for given in ((), args):
                try:
                    yield reverse(f"admin:{pattern.name}", args=given)
                except NoReverseMatch:
                    continue
