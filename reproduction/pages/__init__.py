"""Pages of the documentation that are generated from results."""
