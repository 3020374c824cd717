"""On which NUMA nodes the memory of a run lay, as its launcher saw it."""

from __future__ import annotations

from pydantic import Field, ValidationError

from pyrometer.core.model import Model
from pyrometer.window.scope import Scope


class NodeMemory(Model):
    """Memory of a NUMA node.

    Attributes
    ----------
    executors_bytes : int
        What executors had on it, each when it had most.
    given_pages_count : int or None
        Pages that it gave out while the run went on, to all programs.
    other_node_pages_count : int or None
        Those of them for programs that ran on another node.
    """

    node: int
    executors_bytes: int = 0
    given_pages_count: int | None = None
    other_node_pages_count: int | None = None


class NumaMemory(Model):
    """Memory by NUMA node, of the whole run.

    Attributes
    ----------
    bound_ratio : float or None
        Share that lies on the nodes that an executor is bound to, of the executor with the least.
    reason : str or None
        Why that is not known.
    """

    nodes: list[NodeMemory] = Field(default_factory=list)
    bound_ratio: float | None = None
    reason: str | None = None


class _Node(Model):
    node: int
    numa_hit_pages_count: int | None = None
    numa_miss_pages_count: int | None = None
    other_node_pages_count: int | None = None


class _Executor(Model):
    bytes_by_node: dict[int, int] = Field(default_factory=dict)


class _Seen(Model):
    nodes: list[_Node] = Field(default_factory=list, max_length=1024)
    executors: list[_Executor] = Field(default_factory=list)
    bound_ratio: float | None = None
    reason: str | None = None


def numa_memory(scope: Scope) -> NumaMemory | None:
    """Read what the manifest has; ``None`` of a run that was not about nodes."""
    manifest = scope.run.manifest
    if manifest is None or not manifest.numa:
        return None
    try:
        seen = _Seen.model_validate(manifest.numa)
    except ValidationError:
        # A virtual machine may have written it.
        return NumaMemory(reason="the manifest's record of nodes is damaged")
    found = {one.node: _node(one) for one in seen.nodes}
    for executor in seen.executors:
        for node, size in executor.bytes_by_node.items():
            found.setdefault(node, NodeMemory(node=node)).executors_bytes += size
    return NumaMemory(
        nodes=[found[node] for node in sorted(found)],
        bound_ratio=seen.bound_ratio,
        reason=seen.reason,
    )


def _node(seen: _Node) -> NodeMemory:
    given = (seen.numa_hit_pages_count, seen.numa_miss_pages_count)
    known = [one for one in given if one is not None]
    return NodeMemory(
        node=seen.node,
        given_pages_count=sum(known) if known else None,
        other_node_pages_count=seen.other_node_pages_count,
    )
