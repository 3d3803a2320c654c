"""
For a site's own tests: run jobs inside a plain ``TestCase``, look at what is enqueued, and let time pass for a row.

Nothing here starts a thread or opens a connection; everything happens in the
test's own transaction and goes with it.
"""

from .ageing import age
from .assertions import assert_enqueued, assert_not_enqueued
from .draining import run_jobs
from .running import Ran

__all__ = ["Ran", "age", "assert_enqueued", "assert_not_enqueued", "run_jobs"]
