"""Work of the JVM itself: compiling, collecting, stopping."""
