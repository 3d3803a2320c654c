"""Lines on the terminal: elapsed time, subject, what happened. Colour only for people, and not under NO_COLOR."""

import os
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import TextIO

from .happenings import Happening, Tone

SUBJECT_WIDTH = 20


class Terminal:
    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._is_coloured = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._since: datetime | None = None

    def start_clock(self, at: datetime) -> None:
        """Count the time of the lines that follow from ``at``."""
        self._since = at

    def say(self, text: str = "", tone: Tone = Tone.PLAIN) -> None:
        """Write a line as it is."""
        self._stream.write(f"{self.painted(text, tone)}\n")
        self._stream.flush()

    def tell(self, happenings: Iterable[Happening]) -> None:
        """Write a line for each."""
        for one in happenings:
            elapsed = (one.at - (self._since or one.at)).total_seconds()
            stamp = self.painted(f"{max(0.0, elapsed):7.1f} s", Tone.FAINT)
            self.say(f"{stamp}  {one.subject:{SUBJECT_WIDTH}}  {self.painted(one.text, one.tone)}")

    def painted(self, text: str, tone: Tone) -> str:
        """Return ``text`` in the colour of ``tone`` where colours are wanted."""
        if not self._is_coloured or not tone.value:
            return text
        return f"\x1b[{tone.value}m{text}\x1b[0m"
