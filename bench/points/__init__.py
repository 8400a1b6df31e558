"""Rows by key, from one thread and from several."""
