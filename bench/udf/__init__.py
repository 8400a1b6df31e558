"""What functions in Python cost."""
