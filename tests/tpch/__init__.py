"""The 22 TPC-H queries, their reference answers, and the comparison that tests, demo and benchmark share."""
