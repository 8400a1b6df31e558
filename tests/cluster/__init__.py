"""Queries on a cluster: answers of Sail, or of Spark, beside Inlay's own."""
