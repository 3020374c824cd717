"""What installs the agent: files that say what was asked for, with these rights and no others."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from tests.support import needs

from pyrometer.collect.agent.access import LEVELS, Level
from pyrometer.collect.agent.folder import checked, write, written
from pyrometer.collect.agent.own_programs import MACHINES, refuses, with_own
from pyrometer.collect.agent.programs import programs
from pyrometer.core.errors import CapabilityError, UsageError

TO = "file:///mnt/shared/pyrometer"
BINARIES = {"pyro-agent": b"\x7fELF agent", "pyro-probe": b"\x7fELF probe"}


def texts(level: Level, to: str = TO) -> dict[str, str]:
    return written(to, LEVELS[level], "spark", "registry/pyro-agent:1")


def pod(text: str) -> dict[str, Any]:
    spec: dict[str, Any] = yaml.safe_load(text)["spec"]["template"]["spec"]
    return spec


def unit(text: str) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return parser["Service"]


@pytest.mark.parametrize("level", get_args(Level))
def test_the_same_rights_everywhere(level: Level) -> None:
    wanted = list(LEVELS[level].capabilities)
    service = unit(texts(level)["pyro-agent.service"])
    assert service["CapabilityBoundingSet"].split() == [f"CAP_{name}" for name in wanted]
    assert service["User"] == ("root" if wanted else "spark")
    security = pod(texts(level)["daemonset.yaml"])["containers"][0]["securityContext"]
    assert security["capabilities"]["drop"] == ["ALL"]
    assert security["capabilities"].get("add", []) == wanted
    assert security["runAsUser"] == (0 if wanted else 185)
    assert security["allowPrivilegeEscalation"] is False
    assert "privileged" not in security


def test_every_way_begins_the_agent_with_the_store() -> None:
    words = shlex.split(unit(texts("all")["pyro-agent.service"])["ExecStart"])
    assert words[1:4] == ["host", "--to", TO]
    spec = pod(texts("all")["daemonset.yaml"])
    (container,) = spec["containers"]
    assert container["args"][:3] == ["host", "--to", "file:///store"]
    places = [one["mountPath"] for one in container["volumeMounts"]]
    assert "/store" in places
    # The rest of the file tree is read-only.
    assert Path(container["args"][-1]).parent in map(Path, places)
    assert spec["automountServiceAccountToken"] is False
    assert {
        "name": "store",
        "hostPath": {"path": "/mnt/shared/pyrometer", "type": "Directory"},
    } in spec["volumes"]


@pytest.mark.parametrize(("canary_s", "mib"), [(60, 512), (300, 512), (0, 128)])
def test_canaries_have_the_memory_that_they_take(canary_s: int, mib: int) -> None:
    made = written(TO, LEVELS["all"], "spark", "registry/pyro-agent:1", canary_s)
    service = unit(made["pyro-agent.service"])
    words = shlex.split(service["ExecStart"])
    assert words[words.index("--canary") + 1] == str(canary_s)
    assert service["MemoryMax"] == f"{mib}M"
    (container,) = pod(made["daemonset.yaml"])["containers"]
    args = container["args"]
    assert args[args.index("--canary") + 1] == str(canary_s)
    assert container["resources"]["limits"]["memory"] == f"{mib}Mi"
    values = yaml.safe_load(made["chart/values.yaml"])
    assert values["canary"] == canary_s
    assert values["resources"]["limits"]["memory"] == f"{mib}Mi"


def test_a_bucket_needs_no_volume() -> None:
    spec = pod(texts("all", "s3://bucket/pyrometer")["daemonset.yaml"])
    assert spec["containers"][0]["args"][2] == "s3://bucket/pyrometer"
    assert [one["name"] for one in spec["volumes"]] == ["work"]
    values = yaml.safe_load(texts("all", "s3://bucket/pyrometer")["chart/values.yaml"])
    assert (values["to"], values["store"]) == ("s3://bucket/pyrometer", None)


def test_an_image_trusts_authorities_only_where_it_speaks_to_a_store_over_the_network() -> None:
    assert "certificates" not in texts("all")["Dockerfile"]
    made = texts("all", "s3://bucket/pyrometer")["Dockerfile"].splitlines()
    assert [line for line in made if line.startswith("FROM")][-1] == "FROM scratch"
    assert any(line.endswith("ca-certificates.crt /etc/ssl/certs/") for line in made)


@pytest.mark.parametrize("level", get_args(Level))
def test_the_chart_says_the_same_as_the_manifest(level: Level, tmp_path: Path) -> None:
    helm = shutil.which("helm")
    if helm is None:
        needs.machine_lacks("helm, which is in no package of Debian")
    write(tmp_path / "agent", BINARIES, texts(level))
    done = subprocess.run(
        [helm, "template", "pyro-agent", str(tmp_path / "agent" / "chart")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    of_chart, ours = yaml.safe_load(done.stdout), yaml.safe_load(texts(level)["daemonset.yaml"])
    assert of_chart["metadata"].pop("namespace") == "default"
    assert of_chart == ours


def test_the_volume_that_a_user_names_takes_the_place_of_the_default() -> None:
    """Helm merges values into the default ones: the chart gets both volumes."""
    made = texts("all")
    assert list(yaml.safe_load(made["chart/values.yaml"])["store"]) == ["hostPath"]
    chart = made["chart/templates/daemonset.yaml"]
    assert '{{- if gt (len $store) 1 }}{{- $store = omit $store "hostPath" }}{{- end }}' in chart
    assert chart.count(".Values.store") == chart.count("if .Values.store") + 1


def test_a_node_that_confines_containers_can_be_told_to_let_the_agent_read() -> None:
    made = texts("all")
    assert yaml.safe_load(made["chart/values.yaml"])["securityContext"] == {}
    chart = made["chart/templates/daemonset.yaml"]
    own = chart.partition("          securityContext:\n")[2].partition("          resources:")[0]
    assert "{{- with .Values.securityContext }}" in own
    assert "{{- toYaml . | nindent 12 }}" in own


def test_the_playbook_copies_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    write(folder, BINARIES, texts("all"))
    (play,) = yaml.safe_load((folder / "playbook.yml").read_text())
    copies = [
        task["ansible.builtin.copy"] for task in play["tasks"] if "ansible.builtin.copy" in task
    ]
    loops = [task["loop"] for task in play["tasks"] if "loop" in task]
    assert [one["src"] for one in copies] == ["{{ item }}", "pyro-agent.service"]
    for name in [*loops[0], "pyro-agent.service"]:
        assert (folder / name).is_file()
    names = {task.get("notify") for task in play["tasks"]} - {None}
    assert names == {handler["name"] for handler in play["handlers"]}


@pytest.mark.parametrize(
    ("to", "user", "image"),
    [
        ("nonsense", "spark", "i"),
        ("file://relative/path", "spark", "i"),
        ("file:///a b", "spark", "i"),
        ("file:///a\nExecStartPre=/bin/false", "spark", "i"),
        ("file:///%h", "spark", "i"),
        ("file:///$(x)", "spark", "i"),
        ("file:///{{ x }}", "spark", "i"),
        (TO, "spark\nUser=root", "i"),
        (TO, "Spark!", "i"),
        (TO, "spark", "i\nprivileged: true"),
        (TO, "spark", ""),
    ],
)
def test_words_that_would_mean_something_else_are_refused(to: str, user: str, image: str) -> None:
    with pytest.raises(UsageError):
        checked(to, user, image)


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("file:///home/x/store", "does not see anything below /home"),
        ("file:///mnt/../root//store", "does not see anything below /root"),
        ("file:///run/user/7/store", "does not see anything below /run/user"),
        ("file:///usr/share/store", "cannot write to anything below /usr"),
    ],
)
def test_a_store_that_the_unit_hides_is_refused(to: str, why: str) -> None:
    assert unit(texts("all")["pyro-agent.service"])["ProtectHome"] == "yes"
    with pytest.raises(UsageError, match=why):
        checked(to, "spark", "i")
    for fine in ("file:///homes/x", "file:///mnt/home/x", "file:///run/store"):
        checked(fine, "spark", "i")


def test_nothing_is_written_where_something_is(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        write(tmp_path, BINARIES, texts("all"))
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


def jar(folder: Path, *names: str) -> Path:
    path = folder / "plugin.jar"
    with zipfile.ZipFile(path, "w") as opened:
        for name in names:
            opened.writestr(f"org/pyrometer/natives/{name}", name)
    return path


def test_programs_of_a_jar(tmp_path: Path) -> None:
    both = [f"linux-{m}/{p}" for m in ("x64", "arm64") for p in ("pyro-agent", "pyro-probe")]
    found = programs(jar(tmp_path, *both, "linux-riscv64/pyro-agent", "linux-x64/other"))
    assert sorted(found) == ["linux-arm64", "linux-x64"]
    assert found["linux-x64"]["pyro-probe"] == b"linux-x64/pyro-probe"


def test_a_jar_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "plugin.jar").write_text("no jar")
    with pytest.raises(CapabilityError, match="not a readable jar"):
        programs(tmp_path / "plugin.jar")


@pytest.mark.parametrize(
    "to",
    [
        "s3://ann:plum@bucket/x", "s3://ann@bucket/x", "gs://ann@bucket/x",
        "abfss://box:plum@account.dfs.core.windows.net/x", "s3://bucket/x?sig=plum",
        "gs://bucket/x#plum",
    ],
)  # fmt: skip
def test_no_credentials_get_into_the_files(to: str) -> None:
    with pytest.raises(UsageError, match="in every file") as refused:
        checked(to, "spark", "image:1")
    assert "plum" not in refused.value.message
    for scheme in ("abfs", "abfss"):
        checked(f"{scheme}://box@account.dfs.core.windows.net/x", "spark", "image:1")


def elf(machine: str, text: str) -> bytes:
    """Write the head of a program for a machine, and something by which it is known."""
    return b"\x7fELF".ljust(18, b"\0") + MACHINES[machine].to_bytes(2, "little") + text.encode()


def test_programs_of_ones_own_take_the_place_of_the_packages(tmp_path: Path) -> None:
    agent = elf("linux-x64", "mine")
    (tmp_path / "pyro-agent").write_bytes(agent)
    assert with_own(tmp_path, "linux-x64", BINARIES) == {**BINARIES, "pyro-agent": agent}
    with pytest.raises(UsageError, match="pyro-agent is no program for linux-arm64"):
        with_own(tmp_path, "linux-arm64", BINARIES)
    with pytest.raises(UsageError, match="pyro-probe: No such file"):
        with_own(tmp_path, "linux-x64", {})
    (tmp_path / "pyro-probe").write_text("#!/bin/sh\n")
    with pytest.raises(UsageError, match="pyro-probe is no program"):
        with_own(tmp_path, "linux-x64", BINARIES)
    with pytest.raises(UsageError, match="pyro-agent: No such file"):
        with_own(tmp_path / "none", "linux-x64", BINARIES)


def agent_that_says(text: str) -> bytes:
    """Give a program that ends with an error, unless it is asked for something else."""
    return f'#!/bin/sh\n[ "$1 $2" = "ship --to=s3://b/x" ] && echo "{text}" >&2\nexit 1\n'.encode()


def test_an_agent_is_asked_which_stores_it_knows() -> None:
    unknown = "no store of this kind is known to this agent"
    assert refuses(agent_that_says(f"pyro-agent: {unknown}"), "s3://b/x") == unknown
    missing = agent_that_says("pyro-agent: /tmp/x/missing: No such file or directory")
    assert refuses(missing, "s3://b/x") is None
    with pytest.raises(UsageError, match="no agent of Pyrometer's"):
        refuses(agent_that_says("usage: other"), "s3://b/x")
    with pytest.raises(UsageError, match="cannot be asked whether it writes to s3://b/x"):
        refuses(elf("linux-arm64", "x"), "s3://b/x")
