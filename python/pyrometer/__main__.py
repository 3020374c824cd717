"""``python -m pyrometer``."""

from pyrometer.cli.main import main

main()
