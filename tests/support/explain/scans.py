"""Nodes of a filtered scan as Spark writes them."""

from __future__ import annotations

from dataclasses import replace

from tests.support.explain.planned import node

from pyrometer.accounts.plan_schema import Node


def scan(
    number: int,
    parent: int,
    columns: str = "id#0L, text#1",
    pushed: str = "",
    partition: str = "",
    schema: str = "id:bigint,text:string",
    form: str = "Parquet",
    **metrics: int,
) -> Node:
    """Give the scan of files by the first stage."""
    lists = {"PartitionFilters": f"[{partition}", "PushedFilters": f"[{pushed}"}
    ends = {**dict.fromkeys(lists, "]"), "ReadSchema": ">"}
    written = [
        f"{name}: {value}" + ("" if value.endswith("...") else ends[name])  # Spark cuts the end off
        for name, value in {**lists, "ReadSchema": f"struct<{schema}"}.items()
    ]
    text = (
        f"FileScan {form.lower()} [{columns}] Batched: true, DataFilters: [], Format: {form},"
        f" Location: InMemoryFileIndex(1 paths)[file:/data/t], {', '.join(written)}"
    )
    found = node(number, f"Scan {form.lower()} ", parent, [0], **metrics)
    return replace(found, simple_string=text)


def above(number: int, name: str, parent: int | None, text: str, **metrics: int) -> Node:
    """Give a node of the first stage with its text."""
    found = node(number, name, parent, [0], **metrics)
    return replace(found, simple_string=f"{name} {text}")
