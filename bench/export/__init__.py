"""lineitem from each engine into arrays, frames and Arrow tables of the host."""
