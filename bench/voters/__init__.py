"""Classification of voters: join, label, train, predict and sum up, inside the database or beside it."""
