"""Causes in the data: files, formats, codecs, what a scan reads too much, shuffle."""
