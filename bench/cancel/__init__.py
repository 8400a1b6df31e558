"""How soon a query ends after it was cancelled."""
