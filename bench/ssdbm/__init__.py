"""The micro-benchmarks of SSDBM 2014."""
