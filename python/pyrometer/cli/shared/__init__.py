"""What several verbs share: options, and how their results are printed."""
