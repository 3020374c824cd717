"""Rules of doubt about a window's summary, one a module: docs/how-to/add-a-rule.md."""
