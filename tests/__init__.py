"""Tests that go through the Python package: they see what a user sees."""
