"""What all HTML pages share: the bundled page, columns of numbers, the time axis."""
