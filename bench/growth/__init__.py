"""How the time of statements grows with their rows, their columns and what they list."""
