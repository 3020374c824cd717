"""What pods are said to be."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.kube.kubelet.sandbox import State
from tests.cluster.kube.kubelet.status import Facts, phase, status

NOW, BEGAN = "2026-01-02T03:04:06Z", "2026-01-02T03:04:05Z"
WAITING, RUNNING = State(), State("running", started_at=BEGAN)


def ended(code: int, reason: str = "Error") -> State:
    return State("terminated", started_at=BEGAN, finished_at=NOW, exit_code=code, reason=reason)


def pod(*names: str, init: tuple[str, ...] = (), restart: str = "Never") -> dict[str, Any]:
    return {
        "metadata": {"uid": "u"},
        "spec": {
            "restartPolicy": restart,
            "containers": [{"name": name, "image": "i"} for name in names],
            "initContainers": [{"name": name, "image": "i"} for name in init],
        },
    }


def facts(states: dict[str, State], **more: Any) -> Facts:
    return Facts("192.0.2.1", more.pop("address", "192.0.2.9"), NOW, BEGAN, states, **more)


def test_a_pod_is_pending_until_a_container_runs() -> None:
    assert phase(pod("a"), {}) == "Pending"
    assert phase(pod("a", init=("i",)), {"i": RUNNING}) == "Pending"
    assert phase(pod("a", "b"), {"a": RUNNING}) == "Running"


def test_a_pod_is_over_when_all_of_it_is() -> None:
    assert phase(pod("a", "b"), {"a": ended(0), "b": RUNNING}) == "Running"
    assert phase(pod("a", "b"), {"a": ended(0), "b": ended(0)}) == "Succeeded"
    assert phase(pod("a", "b"), {"a": ended(137), "b": ended(0)}) == "Failed"


def test_a_pod_whose_preparation_failed_never_began() -> None:
    assert phase(pod("a", init=("i",)), {"i": ended(1)}) == "Failed"
    assert phase(pod("a", init=("i",)), {"i": ended(0)}) == "Pending"


def test_a_container_that_is_started_again_keeps_its_pod_running() -> None:
    again = State("waiting", reason="CrashLoopBackOff", restarts=1, last_exit_code=3)
    assert phase(pod("a", restart="Always"), {"a": again}) == "Running"
    told = status(pod("a", restart="Always"), facts({"a": again}))["containerStatuses"][0]
    assert told["restartCount"] == 1
    assert told["lastState"]["terminated"]["exitCode"] == 3
    assert told["state"] == {"waiting": {"reason": "CrashLoopBackOff"}}


def test_how_a_container_ended_is_told() -> None:
    told = status(pod("a"), facts({"a": ended(137, "OOMKilled")}))
    (container,) = told["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 137
    assert container["state"]["terminated"]["reason"] == "OOMKilled"
    assert not container["ready"]
    assert told["phase"] == "Failed"


def test_why_it_waits_is_told() -> None:
    told = status(pod("a"), facts({}, reason="ErrImagePull", message="no image 'i'"))
    waiting = told["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {"reason": "ErrImagePull", "message": "no image 'i'"}


def test_without_an_address_none_is_told() -> None:
    assert "podIP" not in status(pod("a"), facts({}, address=None))
    assert status(pod("a"), facts({}))["podIPs"] == [{"ip": "192.0.2.9"}]


def test_a_condition_keeps_the_time_since_when_it_holds() -> None:
    before = {**pod("a"), "status": {"conditions": status(pod("a"), facts({}))["conditions"]}}
    later = Facts("192.0.2.1", None, "later", BEGAN, {"a": RUNNING})
    since = {c["type"]: c["lastTransitionTime"] for c in status(before, later)["conditions"]}
    assert since == {
        "PodReadyToStartContainers": "later", "Initialized": NOW, "Ready": "later",
        "ContainersReady": "later",
    }  # fmt: skip


def test_what_the_scheduler_said_of_a_pod_stays() -> None:
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "before"}
    bound = {**pod("a"), "status": {"conditions": [placed]}}
    again = {**bound, "status": status(bound, facts({}))}
    told = status(again, facts({"a": RUNNING}))["conditions"]
    assert [one for one in told if one["type"] == "PodScheduled"] == [placed]
    assert len({one["type"] for one in told}) == len(told) == 5


STATES = st.one_of(st.just(WAITING), st.just(RUNNING), st.integers(0, 255).map(ended))


@given(st.dictionaries(st.sampled_from("abc"), STATES))
def test_a_pod_is_ready_only_while_all_of_it_runs(states: dict[str, State]) -> None:
    told = status(pod("a", "b", "c"), facts(states))
    ready = next(c["status"] for c in told["conditions"] if c["type"] == "Ready") == "True"
    assert ready == all(states.get(name) == RUNNING for name in "abc")
    assert (told["phase"] in ("Succeeded", "Failed")) == (
        len(states) == 3 and all(one.state == "terminated" for one in states.values())
    )
