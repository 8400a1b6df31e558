"""Benchmarks: Inlay beside its peers, interleaved in one run, every answer checked before a time is reported."""
