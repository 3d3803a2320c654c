"""How far a run has got, as its handler said last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """``total`` is None where the handler did not say how much there is to do."""

    done: float
    total: float | None = None
    message: str = ""

    @classmethod
    def of(cls, stored: Any) -> Progress | None:
        """Return what a row says, None if that is nothing that can be shown as progress."""
        if not isinstance(stored, dict) or not _is_number(stored.get("done")):
            return None
        total: Any = stored.get("total")
        return cls(
            done=stored["done"],
            total=total if _is_number(total) and total > 0 else None,
            message=str(stored.get("message", "")),
        )

    @property
    def percent(self) -> int | None:
        return None if self.total is None else round(100 * min(max(self.done / self.total, 0), 1))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
