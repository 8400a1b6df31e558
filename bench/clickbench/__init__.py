"""ClickBench."""
