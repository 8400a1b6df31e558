"""TPC-H with one and two threads, at several scales and under memory limits."""
