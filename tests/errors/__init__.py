"""Each mistake has a specific error, and the connection works afterwards."""
