"""The best configuration held against the baseline once more, in trials that chose nothing."""
