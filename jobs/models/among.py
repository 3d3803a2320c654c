"""Many ids in one parameter: Django's ``__in`` has one for each, which costs more than the query itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db.models import BooleanField, Func


class Among(Func):
    """Whether a column of ids has one of ``ids``; to be filtered by."""

    arity = 1
    output_field = BooleanField()

    def __init__(self, column: Any, ids: Iterable[int] = (), **extra: Any) -> None:
        super().__init__(column, **extra)
        self.ids = list(ids)

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **extra: Any) -> Any:
        template = "%(expressions)s IN (SELECT value FROM JSON_EACH(%%s))"
        sql, params = super().as_sql(compiler, connection, template=template, **extra)
        return sql, [*params, json.dumps(self.ids)]

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        template = "%(expressions)s = ANY(%%s::bigint[])"
        sql, params = super().as_sql(compiler, connection, template=template, **extra)
        return sql, [*params, self.ids]
