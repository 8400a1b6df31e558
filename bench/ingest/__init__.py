"""Loading data of the host and of files."""
