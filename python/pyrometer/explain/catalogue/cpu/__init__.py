"""Causes in the CPU time of tasks: expressions, code generation, compilers, codecs, locks."""
