"""The JVM's own work: compiling, collecting, stopping."""
