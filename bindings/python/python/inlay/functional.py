"""The old name of `inlay.func`."""

from inlay.func import *  # noqa: F403
