"""From samples to SQL operators, expressions and lines of generated code."""
