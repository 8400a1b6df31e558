"""The documents keep their word: code runs, links lead somewhere."""
