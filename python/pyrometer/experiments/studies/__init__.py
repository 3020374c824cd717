"""Published studies: their values compared with ours."""
