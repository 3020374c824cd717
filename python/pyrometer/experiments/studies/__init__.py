"""Published studies: their values beside ours."""
