"""Where time, bytes and cycles of a window went."""
