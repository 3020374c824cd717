"""Differences of profiles: what changed, frame by frame, with intervals."""
