"""The ledger: every slot-second and every core-second of a window once.

Each rule of the slot view is a module that leaves its sums per task attempt in the database; a
grouping (window, stage, SQL execution, task) then adds them up, so that all of them follow the same
rules and the parts of a partition add up to the whole.
"""
