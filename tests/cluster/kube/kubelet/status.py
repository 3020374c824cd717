"""What a pod is said to be, from what became of its containers: pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from tests.cluster.kube.kubelet.api import Object
from tests.cluster.kube.kubelet.sandbox import State

FINAL = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Facts:
    """What a kubelet knows of a pod.

    Parameters
    ----------
    host_address : str
        Of the node.
    address : str or None
        Of the pod, once it has one.
    now, began : str
        Now, and when the kubelet first saw it.
    states : mapping of str to State
        Of containers; one that is missing has not been started.
    reason, message : str
        Why containers have not been started.
    """

    host_address: str
    address: str | None
    now: str
    began: str
    states: Mapping[str, State]
    reason: str = "ContainerCreating"
    message: str = ""


def phase(pod: Object, states: Mapping[str, State]) -> str:
    """Give the phase of a pod."""
    spec = pod["spec"]
    failed_init = any(
        _final(states.get(one["name"])) and states[one["name"]].exit_code
        for one in spec.get("initContainers", [])
    )
    if failed_init and spec.get("restartPolicy") == "Never":
        return "Failed"
    main = [states.get(one["name"], State()) for one in spec["containers"]]
    if all(_final(one) for one in main):
        return "Failed" if any(one.exit_code for one in main) else "Succeeded"
    begun = any(one.state != "waiting" or one.restarts for one in main)
    return "Running" if begun else "Pending"


def status(pod: Object, facts: Facts) -> Object:
    """Give the status of a pod, as the API takes it."""
    spec = pod["spec"]
    named = phase(pod, facts.states)
    lists = {
        "containerStatuses": [_container(pod, one, facts) for one in spec["containers"]],
        "initContainerStatuses": [
            _container(pod, one, facts) for one in spec.get("initContainers", [])
        ],
    }
    prepared = all(one["state"].get("terminated") for one in lists["initContainerStatuses"])
    ready = named == "Running" and all(one["ready"] for one in lists["containerStatuses"])
    reason = "PodCompleted" if named == "Succeeded" else None if ready else "ContainersNotReady"
    kinds = {
        "PodReadyToStartContainers": (facts.address is not None, None),
        "Initialized": (prepared, None if prepared else "ContainersNotInitialized"),
        "Ready": (ready, reason),
        "ContainersReady": (ready, reason),
    }
    # Among others the scheduler's: a merge replaces the whole list.
    kept = [c for c in pod.get("status", {}).get("conditions", []) if c["type"] not in kinds]
    found: Object = {
        "phase": named,
        "hostIP": facts.host_address,
        "startTime": facts.began,
        "conditions": [
            *kept,
            *(_condition(pod, kind, *of, facts.now) for kind, of in kinds.items()),
        ],
        **{name: statuses for name, statuses in lists.items() if statuses},
    }
    if facts.address:
        found |= {"podIP": facts.address, "podIPs": [{"ip": facts.address}]}
    return found


def identity(pod: Object, name: str) -> str:
    """Give the id of a container: the same for all of its attempts."""
    return hashlib.sha256(f"{pod['metadata']['uid']}/{name}".encode()).hexdigest()


def _final(state: State | None) -> bool:
    return state is not None and state.state == "terminated"


def _container(pod: Object, container: Object, facts: Facts) -> Object:
    name = container["name"]
    state = facts.states.get(name, State())
    running = state.state == "running"
    own = f"process://{identity(pod, name)}"
    last: Object = {}
    if state.last_exit_code is not None:
        last = {"terminated": {"exitCode": state.last_exit_code, "reason": "Error"}}
    begun = running or state.state == "terminated"
    return {
        "name": name,
        "image": container.get("image", ""),
        "imageID": container.get("image", "") if begun else "",
        **({"containerID": own} if begun else {}),
        "ready": running,
        "started": running,
        "restartCount": state.restarts,
        "state": _state(state, own, facts),
        "lastState": last,
    }


def _state(state: State, own: str, facts: Facts) -> Object:
    if state.state == "running":
        return {"running": {"startedAt": state.started_at}}
    if state.state == "terminated":
        told = {
            "containerID": own,
            "exitCode": state.exit_code,
            "reason": state.reason,
            "message": state.message,
            "startedAt": state.started_at,
            "finishedAt": state.finished_at,
        }
        return {"terminated": {key: value for key, value in told.items() if value is not None}}
    reason, message = state.reason or facts.reason, state.message or facts.message
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def _condition(pod: Object, kind: str, holds: bool, reason: str | None, now: str) -> Object:
    word = "True" if holds else "False"
    known = next(
        (c for c in pod.get("status", {}).get("conditions", []) if c["type"] == kind), None
    )
    since = known["lastTransitionTime"] if known and known["status"] == word else now
    return {"type": kind, "status": word, "reason": reason, "lastTransitionTime": since}
