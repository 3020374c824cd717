"""Virtual machines that are made for one trial: described, started, filled, heard, thrown away."""
