"""The site of the tests with the theme that most replace Django's admin with."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS as PLAIN

INSTALLED_APPS = ["unfold", *PLAIN]
