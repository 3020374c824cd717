"""The best configuration compared with the baseline once more, in trials that chose nothing."""
