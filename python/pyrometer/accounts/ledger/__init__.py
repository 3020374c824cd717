"""The ledger: every slot-second and every core-second of a window once."""
