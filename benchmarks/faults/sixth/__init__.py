"""The sixth set of causes."""
