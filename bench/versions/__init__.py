"""What a transaction that stays open costs while rows are changed beside it."""
