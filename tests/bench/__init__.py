"""The frame of the benchmarks."""
