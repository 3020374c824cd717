"""SQL that tables are read with: values in its text, and views of rows of several hosts."""
