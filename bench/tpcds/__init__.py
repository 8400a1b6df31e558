"""TPC-DS."""
