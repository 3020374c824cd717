"""Everything about one window of a run: the summary, its verdict, its terminal view."""
