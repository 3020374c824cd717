"""Names, addresses and commands of a test bed, without making one."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster import bed as beds
from tests.cluster.bed import Bed, HostSpec

from pyrometer.core.errors import UsageError

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,7}", fullmatch=True)
LONGEST_INTERFACE = 15


def bed(**more: object) -> Bed:
    return Bed(
        **{"name": "b", "subnet": "198.18.3.0/24", "hosts": (HostSpec(), HostSpec()), **more}
    )


@given(NAMES, st.integers(1, 200))
def test_names_of_interfaces_are_short_enough_and_found_again(name: str, count: int) -> None:
    made = Bed(name, "198.18.0.0/24", (HostSpec(),) * count)
    interfaces = [made.bridge, *(made.interface(n) for n in made.numbers)]
    assert max(map(len, interfaces)) <= LONGEST_INTERFACE
    assert set(beds.interfaces_of(name, interfaces)) == set(interfaces)
    assert beds.interfaces_of(name + "x"[: 8 - len(name)], interfaces) == (
        [] if len(name) < 8 else beds.interfaces_of(name, interfaces)
    )


@given(st.integers(1, 200))
def test_every_host_has_an_address_of_its_own_on_the_bridge(count: int) -> None:
    made = Bed("b", "198.18.3.0/24", (HostSpec(),) * count)
    addresses = {made.gateway, *(made.address(n) for n in made.numbers)}
    assert len(addresses) == count + 1
    network = ipaddress.ip_network(made.subnet)
    assert all(ipaddress.ip_address(one) in network for one in addresses)


@pytest.mark.parametrize("name", ["", "1a", "a-b", "A", "ninechars", "a/b", "..", "a b"])
def test_names_that_could_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="name of a test bed"):
        bed(name=name)


@given(NAMES, st.lists(st.integers(0, 511), max_size=40))
def test_a_network_overlaps_with_none_that_is_taken(name: str, taken: list[int]) -> None:
    networks = [*beds.NETWORK.subnets(new_prefix=24)]
    given_ = [str(networks[n]) for n in taken]
    found = ipaddress.ip_network(beds.free_subnet(name, given_))
    assert not any(found.overlaps(networks[n]) for n in taken)
    assert found.subnet_of(beds.NETWORK)


def test_a_machine_that_has_taken_all_is_refused() -> None:
    with pytest.raises(UsageError, match="is taken"):
        beds.free_subnet("a", [str(beds.NETWORK)])


def test_a_bed_is_read_as_it_was_written() -> None:
    made = bed(hidden=("/a",), shared={"/a/b": "/c"}, hosts=(HostSpec(0.5, 100, -3, False),))
    undo = [("/sys/fs/cgroup/cgroup.subtree_control", "-cpu")]
    assert beds.from_text(beds.to_text(made, undo)) == (made, undo)


def test_hosts_see_nothing_of_hidden_folders_but_what_is_shared() -> None:
    made = bed(hidden=("/tmp/repo", "/srv/repo"), shared={"/srv/repo/.venv": "/x", "/opt/y": "/y"})
    wanted = beds.mounts(made, 2)
    files = beds.FOLDER / "b" / "b-2"
    # /tmp/repo is gone with /tmp; nothing covers /opt/y.
    assert wanted["covers"] == {
        "/tmp": f"{files}/tmp",
        "/var/tmp": f"{files}/var/tmp",
        "/srv/repo": f"{files}/srv/repo",
    }
    assert wanted["shared"] == {"/srv/repo/.venv": "/x"}
    assert wanted["hostname"] == "b-2"


def test_all_names_are_in_the_file_of_hosts() -> None:
    assert bed().hosts_file().splitlines() == [
        "127.0.0.1 localhost", "198.18.3.1 client", "198.18.3.11 b-1", "198.18.3.12 b-2",
    ]  # fmt: skip


def test_a_command_gets_nothing_of_our_environment() -> None:
    words = beds.entering(bed(), 1, 77, ["/g"], ["java", "-x y"], {"A": "b c"}, "/w")
    assert words[4:7] == ["/g", "nsenter", "--target=77"]
    # By its path: where ours leads may be covered on the host.
    assert words[words.index("--") + 1 :][:4] == ["/usr/bin/env", "-i", "-C", "/w"]
    assert words[-3:] == ["A=b c", "java", "-x y"]
    assert "--pid" in words


def test_without_numbers_of_its_own_a_host_is_in_the_machines_namespace() -> None:
    made = bed(hosts=(HostSpec(clock_s=-0.05, own_pids=False),))
    words = beds.entering(made, 1, 77, ["/g"], ["true"], {}, "/w")
    assert "--pid" not in words
    words = beds.holding(made, 1, ["/g"], ["python"])
    assert not {"--pid", "--mount-proc"} & set(words)
    assert words[words.index(str(beds.CLOCK)) + 1] == "-50000000"
