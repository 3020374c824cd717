"""The fifth set of causes."""
