"""The shell at a terminal."""
