"""The fourth set of causes."""
