"""Causes in the machine: its CPUs and who shares them, memory, disks, network, engine, settings."""
