"""
Claim, renew, settle, release, rescue: every write to a running job.

All of them are fenced: they match the job's id, its claim number and a
present lease, and each answers ``done``, ``busy`` (somebody else has the row
locked: try again) or ``lost`` (another claim, or none, holds the job now).
None ever waits for a row lock.
"""

from .claimed import Claimed
from .claiming import claim, claim_suspect, stray_leases, suspects
from .refusals import is_refused
from .renewal import Beat, Renewal, renew
from .rescue import Rescued, rescue
from .settlement import Answer, Lease, Settlement, is_settled, release, settle
from .trail import Trail

__all__ = [
    "Answer",
    "Beat",
    "Claimed",
    "Lease",
    "Renewal",
    "Rescued",
    "Settlement",
    "Trail",
    "claim",
    "claim_suspect",
    "is_refused",
    "is_settled",
    "release",
    "renew",
    "rescue",
    "settle",
    "stray_leases",
    "suspects",
]
