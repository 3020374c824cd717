"""Input and arms of the comparison of tools that read stacks."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest
from benchmarks import stacks, stacks_input
from benchmarks.execute import execute

from pyrometer import _core

RECORDING = Path(__file__).parents[2] / "fixtures" / "jfr" / "profile-burn-20632.jfr"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> stacks_input.Inputs:
    run, folder = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("made")
    (run / "raw").mkdir()
    (run / "raw" / RECORDING.name).symlink_to(RECORDING)
    return stacks_input.make(run, folder, 2 * RECORDING.stat().st_size, 1)


def test_one_run_gives_the_same_samples_in_every_form(inputs: stacks_input.Inputs) -> None:
    assert inputs.jfr.stat().st_size == 2 * RECORDING.stat().st_size
    weights = [int(line.rsplit(" ", 1)[1]) for line in inputs.folded.read_text().splitlines()]
    tables = inputs.perf.parent / "tables"
    out = inputs.perf.parent / "of_tables"
    report = json.loads(_core.fold(str(tables), str(out)))
    assert sum(weights) == report["stats"]["weight"] > 0
    frames = {line.split(" ")[0].count(";") for line in out.read_text().splitlines()}
    assert max(frames) + 1 == max(
        line.rsplit(" ", 1)[0].count(";") for line in inputs.folded.read_text().splitlines()
    ), "perf's text adds the name of the thread"


def test_arms_of_pyrometer_run(inputs: stacks_input.Inputs) -> None:
    none = Namespace(jfr_converter=None, flamegraph=None, inferno=Path("/nowhere"))
    peers = stacks.Peers(none)
    assert peers.absent[0] == "jfr-converter: not given"
    assert peers.absent[-1] == "inferno inferno-flamegraph: /nowhere/inferno-flamegraph is no file"
    arms = [
        *stacks.parse_arms(inputs.jfr, peers),
        *stacks.fold_arms(inputs.perf, peers),
        *stacks.render_arms(inputs.folded, peers),
    ]
    assert [arm.name for arm in arms] == [
        "pyrometer tables",
        "pyrometer folded",
        "pyrometer",
        "pyrometer",
    ]
    ended = [execute(arm) for arm in arms]
    assert [finished.exit_code for finished, _ in ended] == [0] * 4
    metrics = [metrics for _, metrics in ended]
    assert metrics[1]["weight"] == 2 * (metrics[2]["weight"] or 0) > 0
    assert (metrics[3]["out_bytes"] or 0) > 1000
