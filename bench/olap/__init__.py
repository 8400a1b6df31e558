"""Group-bys of an OLAP calculator."""
