"""Whether a gain is believed: statistics of trials that no choice was made with."""
