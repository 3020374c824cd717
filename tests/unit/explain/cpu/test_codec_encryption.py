from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, job, judged, only, samples, settings, stack

from pyrometer.explain.catalogue.cpu.codec_encryption import RULE


def test_a_third_of_the_cpu_in_ciphers(tmp_path: Path) -> None:
    world = job()
    cipher = stack(world, "a.Task.run", "com.sun.crypto.provider.AESCrypt.x")
    samples(world, 1 / 3, java_stack=cipher)
    settings(world, spark__io__encryption__enabled="true")
    found = only(world.write(tmp_path), RULE)
    assert holds(found, 4 * 0.8 / 3 * 0.95)
    assert (found.place.stage_id, found.place.setting) == (0, "spark.io.encryption.enabled")
    assert (found.remedies[0].factor, found.remedies[0].level) == (
        "spark.io.encryption.enabled", "false",
    )  # fmt: skip


def test_checksums_are_no_ciphers(tmp_path: Path) -> None:
    world = job()
    samples(world, 1 / 3, java_stack=stack(world, "a.Task.run", "sun.security.provider.SHA2.hash"))
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = job()
    settings(world, spark__io__encryption__enabled="true")
    assert judged(world.write(tmp_path), RULE).findings == []
