"""What a number is about: the windows of a run, and a run cut to one of them."""
