"""What somebody was asked about, on its way through their browser and back, so that it is just that which they confirm."""

from __future__ import annotations

from datetime import datetime

from django.core import signing

from ..stats import Selection, ShownState

SALT = "jobs.bulk"
# How long a page may lie about; what it asked about is then asked anew.
FRESH_SECONDS = 3_600


def seal(selection: Selection, action: str) -> str:
    """Return ``selection`` as signed text that is good for ``action`` only."""
    values = [action, dict(selection.filter), list(selection.states), selection.max_id, selection.at.isoformat()]
    return signing.dumps(values, salt=SALT, compress=True)


def unseal(text: str, action: str) -> Selection | None:
    """Return what was sealed for ``action`` within the last hour; None for anything else."""
    try:
        name, wanted, states, max_id, at = signing.loads(text, salt=SALT, max_age=FRESH_SECONDS)
    except signing.BadSignature:
        return None
    if name != action:
        return None
    meant = tuple(ShownState(state) for state in states)
    return Selection(filter=wanted, states=meant, max_id=max_id, at=datetime.fromisoformat(at))
