"""``cron``: what people do to schedules."""

from ..base import Group
from . import backfilling, importing, listing, steering, syncing

GROUP = Group(
    name="cron",
    help="Look after schedules.",
    subcommands=(
        *listing.SUBCOMMANDS,
        *steering.SUBCOMMANDS,
        *backfilling.SUBCOMMANDS,
        *syncing.SUBCOMMANDS,
        *importing.SUBCOMMANDS,
    ),
)
