"""SQLAlchemy's own suite for dialects, run by `test_sqlalchemy_suite.py` in a process of its own."""

from sqlalchemy.testing.suite import *  # noqa: F403
