"""Whatever is asked of whatever host: refused in words, or each limit written once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrometer.collect.host.cgroup_plan import CONTROLLER, Hierarchy, plan
from pyrometer.core.errors import PyrometerError

LEVELS = st.dictionaries(st.sampled_from([*CONTROLLER, "jvm.heap"]), st.integers(1, 10_000))
NAMES = st.frozensets(st.sampled_from(["memory", "cpu", "io", "blkio", "pids"]))
FOLDERS = st.sampled_from(["/a", "/a/b", "/c"])
PLACES = st.builds(Hierarchy, st.sampled_from([1, 2]), NAMES, FOLDERS, FOLDERS, NAMES)


@given(LEVELS, st.lists(PLACES, max_size=4), st.sampled_from([None, "8:0"]))
def test_a_plan_writes_into_its_own_folders_and_undoes_what_it_enables(
    levels: dict[str, int], hosts: list[Hierarchy], device: str | None
) -> None:
    refused = None
    try:
        planned = plan(levels, hosts, device, "g")
    except PyrometerError as error:
        refused = error
    if refused is not None:
        assert refused.message
        assert refused.remedy
        return
    asked = CONTROLLER.keys() & levels.keys()
    assert bool(planned.folders) == bool(asked)
    paths = [write.path for write in planned.writes]
    assert len(paths) == len(set(paths))
    enabling = [p for p in paths if p.endswith("/cgroup.subtree_control")]
    assert [write.path for write in planned.undo] == enabling
    assert all(p.rpartition("/")[0] in planned.folders for p in paths if p not in enabling)
    # Of version 2 a process can be in one group only.
    first = {f"{h.folder}/g" for h in hosts if h.version == 1}
    assert len([f for f in planned.folders if f not in first]) <= 1
