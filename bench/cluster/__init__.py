"""Queries here, on Sail and on Spark, and what it costs that Inlay stands between."""
