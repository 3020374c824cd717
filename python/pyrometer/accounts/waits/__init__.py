"""Time off the CPU: wait classes, who ended each wait, extended stacks."""
