"""A probe that begins late, on a busy machine, is waited for."""

from __future__ import annotations

from pyrometer.collect.probes import os as os_probe

os_probe._READY_SECONDS = os_probe._STOP_SECONDS = 60.0
