from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, job, judged, only, samples, stack

from pyrometer.explain.catalogue.cpu.serialisation_java import RULE

WRITE = "org.apache.spark.serializer.JavaSerializationStream.writeObject"
CLOSURE = "org.apache.spark.serializer.JavaSerializerInstance.deserialize"


def test_half_of_the_cpu_in_javas_serialisation(tmp_path: Path) -> None:
    world = job()
    samples(world, 0.5, java_stack=stack(world, "a.Task.run", WRITE, "java.io.Bits.putInt"))
    found = only(world.write(tmp_path), RULE)
    # 4 s of which 80 % go with the CPU: half of that, and Kryo needs between a tenth and a half.
    assert holds(found, 4 * 0.8 * 0.5 * 0.7)
    assert (found.place.stage_id, found.place.setting) == (0, "spark.serializer")
    assert found.remedies[0].factor == "spark.serializer"


def test_closures_are_always_javas(tmp_path: Path) -> None:
    world = job()
    samples(world, 0.5, java_stack=stack(world, CLOSURE, WRITE))
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = job()
    samples(world, 0.5, java_stack=stack(world, "com.esotericsoftware.kryo.Kryo.writeObject"))
    assert judged(world.write(tmp_path), RULE).findings == []
