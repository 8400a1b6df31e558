"""The listings of the documents that Inlay was founded on."""
