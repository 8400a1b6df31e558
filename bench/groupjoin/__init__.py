"""The grouping and joining questions of h2o.ai's db-benchmark."""
