"""One thing that happened, ready to be told."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class Tone(Enum):
    """How a line should look; the values are ANSI colour codes."""

    PLAIN = ""
    FAINT = "2"
    GOOD = "32"
    WARNING = "33"
    BAD = "31"
    STRONG = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """``at`` is the database's time; ``subject`` is a job such as ``#7 demo.crash``, or a process, or empty."""

    at: datetime
    subject: str
    text: str
    tone: Tone = Tone.PLAIN
