"""Hosts are separate, and nothing of them is left whatever becomes of who made them."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster import hosts
from tests.cluster.bed import FOLDER, PATH, HostSpec
from tests.cluster.hosts import Network
from tests.support import needs

from pyrometer.core.errors import UsageError

ROOT = Path(__file__).parents[3]
AHEAD_S = 40_000.05
PATIENCE_S = 30.0
CLOCK = "import time; print(time.monotonic_ns())"
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def able() -> None:
    if lack := hosts.lacking():
        needs.machine_lacks(lack)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    hidden = tmp_path_factory.mktemp("hidden")
    (hidden / "file").touch()
    specs = [HostSpec(0.5, 256, AHEAD_S), HostSpec(2.0, 512, own_pids=False)]
    shared = {str(hidden / "python"): os.path.realpath(sys.prefix)}
    with hosts.network("ithosts", specs, hidden=[str(hidden)], shared=shared) as network:
        yield network
    assert hosts.leftovers("ithosts") == []


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_each_host_has_name_address_and_files_of_its_own(bed: Network) -> None:
    for host in bed.hosts:
        host.run(["touch", f"/tmp/of-{host.name}"])
        said = host.run(["sh", "-c", "hostname; ip -o -4 addr show eth0; ls /tmp"]).stdout
        assert said.splitlines()[0] == host.name
        assert f" {host.address}/" in said
        assert f"of-{host.name}" in said
        assert host.path(f"/tmp/of-{host.name}").exists()
    assert not bed.hosts[1].path(f"/tmp/of-{bed.hosts[0].name}").exists()
    assert not Path(f"/tmp/of-{bed.hosts[0].name}").exists()


def test_hosts_see_what_is_shared_and_not_what_is_hidden(bed: Network) -> None:
    ((inside, _),) = bed.bed.shared.items()
    for host in bed.hosts:
        assert host.run(["ls", bed.bed.hidden[0]]).stdout == "python\n"
        assert host.run(["ls", f"{inside}/bin"]).stdout.splitlines() != []


def test_commands_run_where_our_path_leads_is_covered(
    bed: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in ("env", "nsenter", "sh"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(tmp_path))
    for host in bed.hosts:
        assert host.run(["ls", str(tmp_path)], check=False).returncode == 2
        assert host.run(["printenv", "PATH"]).stdout == f"{PATH}\n"


def test_hosts_reach_one_another_and_the_machine(bed: Network) -> None:
    with socket.create_server((bed.bed.gateway, 0)) as server:
        asked = f"import socket; socket.create_connection(('client', {server.getsockname()[1]}), 9)"
        bed.hosts[0].run(["python3", "-c", asked])
        server.settimeout(PATIENCE_S)
        assert server.accept()[1][0] == bed.hosts[0].address
    serve = "import socket; s = socket.create_server(('', 7)); s.accept()[0].sendall(b'yes')"
    bed.hosts[1].start("serve", ["python3", "-c", serve])
    asked = (
        "import socket, time\n"
        "for _ in range(200):\n"
        "    try:\n"
        f"        print(socket.create_connection(('{bed.hosts[1].name}', 7), 9).recv(9)); break\n"
        "    except ConnectionRefusedError:\n"
        "        time.sleep(0.05)\n"
    )
    assert bed.hosts[0].run(["python3", "-c", asked]).stdout == "b'yes'\n"


def test_the_monotonic_clock_is_ahead(bed: Network) -> None:
    for host in bed.hosts:
        before = time.monotonic_ns()
        there = int(host.run(["python3", "-c", CLOCK]).stdout)
        after = time.monotonic_ns()
        ahead = round(host.bed.hosts[host.number - 1].clock_s * 10**9)
        assert before + ahead <= there <= after + ahead


def test_limits_hold_and_only_own_processes_are_seen(bed: Network) -> None:
    first, second = bed.hosts
    tried = first.run(["python3", "-c", "b = bytearray(400 << 20)"], check=False)
    assert tried.returncode != 0
    assert second.run(["python3", "-c", "b = bytearray(400 << 20)"]).returncode == 0
    assert first.run(["sh", "-c", "echo $$"]).stdout.strip() != ""
    seen = first.run(["python3", "-c", "import os; print(os.listdir('/proc'))"]).stdout
    assert f"'{os.getpid()}'" not in seen
    seen = second.run(["python3", "-c", "import os; print(os.listdir('/proc'))"]).stdout
    assert f"'{os.getpid()}'" in seen


def test_bandwidth_is_limited_at_both_ends_of_the_cable(bed: Network) -> None:
    host = bed.hosts[1]
    host.limit_network(80_000_000)
    here = ["tc", "qdisc", "show", "dev", bed.bed.interface(host.number)]
    outside = subprocess.run(
        here, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout
    for said in (outside, host.run(["tc", "qdisc", "show", "dev", "eth0"]).stdout):
        assert "tbf" in said
        assert "80Mbit" in said
    host.free_network()
    assert "tbf" not in host.run(["tc", "qdisc", "show", "dev", "eth0"]).stdout


def test_cpu_and_disk_of_a_host_that_is_up_are_limited(bed: Network) -> None:
    host = bed.hosts[1]
    log = host.start("reader", ["sleep", "600"])
    wait_until(
        lambda: "sleep 600" in host.processes().values(), f"it does not run: {log.read_text()}"
    )
    host.limit_cpus(0.25)
    host.limit_disk(4 << 20)
    (sleeper,) = (pid for pid, line in host.processes().items() if line == "sleep 600")
    said = Path(f"/proc/{sleeper}/cgroup").read_text()
    limits = "".join(
        file.read_text()
        for group in host.groups
        for name in ("cpu.cfs_quota_us", "blkio.throttle.read_bps_device", "cpu.max", "io.max")
        if (file := Path(group, name)).exists()
    )
    assert {"25000", str(4 << 20)} <= set(limits.replace("=", " ").split()), limits
    assert said.count(bed.bed.group(host.number)) == len(host.groups)
    host.limit_cpus(host.bed.hosts[1].cpus)
    host.kill("sleep 600")


def test_some_or_all_processes_of_a_host_are_killed(bed: Network) -> None:
    host = bed.hosts[1]
    logs = [host.start(name, ["sleep", name]) for name in ("1234", "4321")]
    wait_until(
        lambda: {"sleep 1234", "sleep 4321"} <= set(host.processes().values()),
        f"they do not run: {[log.read_text() for log in logs]}",
    )
    assert host.kill("sleep 1234")
    wait_until(lambda: "sleep 1234" not in host.processes().values(), "it runs on")
    assert "sleep 4321" in host.processes().values()
    host.kill("4321")


def test_a_second_bed_of_the_same_name_is_refused(bed: Network) -> None:
    with pytest.raises(UsageError, match="is there"):
        hosts.up(bed.bed.name, [HostSpec()])
    assert hosts.find(bed.bed.name).bed == bed.bed


def _killed_while_making(after_s: float) -> None:
    code = (
        "from tests.cluster import hosts; from tests.cluster.bed import HostSpec\n"
        "hosts.up('itkill', [HostSpec(), HostSpec()]); print('up', flush=True)\n"
        "import signal; signal.pause()\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{ROOT}/python:{ROOT}"}
    making = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE)
    assert making.stdout is not None
    try:
        if after_s:
            threading.Event().wait(after_s)
        else:
            assert select.select([making.stdout], [], [], PATIENCE_S)[0], "no bed came up"
            assert making.stdout.readline() == b"up\n"
    finally:
        making.send_signal(signal.SIGKILL)
        making.wait()
        making.stdout.close()


def _interfaces() -> set[str]:
    return set(hosts._interfaces())


@pytest.mark.parametrize("after_s", [0.0, 0.2, 0.35, 0.5])
def test_what_a_killed_process_leaves_is_found_by_its_name(after_s: float) -> None:
    mounts, interfaces = Path("/proc/mounts").read_text(), _interfaces()
    try:
        _killed_while_making(after_s)
        if not after_s:
            assert hosts.leftovers("itkill")
            assert "itkill" in hosts.names()
            assert len(hosts.find("itkill").hosts) == 2
    finally:
        assert hosts.down("itkill") == []
    assert Path("/proc/mounts").read_text() == mounts
    assert _interfaces() == interfaces
    assert not (FOLDER / "itkill").exists()
    assert "itkill" not in hosts.names()


def test_taking_away_what_is_not_there_does_nothing() -> None:
    assert hosts.down("itnone") == []
    with pytest.raises(UsageError, match="no test bed"):
        hosts.find("itnone")
