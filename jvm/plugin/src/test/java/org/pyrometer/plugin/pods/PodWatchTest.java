package org.pyrometer.plugin.pods;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.pods.FakePods.Node;
import org.pyrometer.plugin.records.Recorder;

class PodWatchTest {
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private final Recorder recorder =
      new Recorder(
          written::write,
          Settings.of(
              Map.of("mx.interval.ms", "0", "clock.interval.ms", "0", "flush.interval.ms", "5")));
  private final FakePods.Backend backend = new FakePods.Backend();
  private PodWatch watch;

  @BeforeEach
  void watch() throws ReflectiveOperationException {
    watch = new PodWatch(backend, "spark-1", null, recorder);
    recorder.start();
  }

  /** Looks, and gives all that was written so far. */
  private List<String> looked(String kind) {
    watch.run();
    recorder.finish();
    recorder.resume();
    return written
        .toString(UTF_8)
        .lines()
        .filter(line -> line.startsWith("{\"k\":\"" + kind + "\""))
        .map(line -> line.replaceAll(",\"wall_ns\":\\d+}", "}"))
        .collect(Collectors.toList());
  }

  private static Node created(String name) {
    Node pod = new Node();
    pod.at("metadata").with("name", name).with("creationTimestamp", "1970-01-01T00:00:10Z");
    return pod;
  }

  private static Node condition(String type, String status, String since) {
    return new Node().with("type", type).with("status", status).with("lastTransitionTime", since);
  }

  private static Node status(String name, String state, String key, String value) {
    Node status = new Node().with("name", name).with("image", "spark:4");
    status.at("state").at(state).with(key, value);
    return status;
  }

  private static Node running(String name) {
    Node pod = created(name);
    pod.at("spec").with("nodeName", "n1");
    pod.at("status")
        .add("conditions", condition("PodScheduled", "True", "1970-01-01T00:00:12Z"))
        .add("conditions", condition("PodReadyToStartContainers", "True", "1970-01-01T00:00:13Z"))
        .add("conditions", condition("Initialized", "True", "1970-01-01T00:00:13Z"))
        .add("conditions", condition("Ready", "False", "1970-01-01T00:00:14Z"))
        .add("containerStatuses", status("x", "running", "startedAt", "1970-01-01T00:00:20Z"));
    return pod;
  }

  private static String record(String executor, String name, String rest) {
    return "{\"k\":\"pod\",\"app_id\":\"spark-1\",\"executor_id\":\""
        + executor
        + "\",\"name\":"
        + name
        + ","
        + rest
        + "}";
  }

  @Test
  void aPodIsToldWheneverMoreIsKnownUntilItsContainerRuns() {
    Node pending = created("p-1");
    pending
        .at("status")
        .add(
            "conditions",
            condition("PodScheduled", "False", "1970-01-01T00:00:10Z")
                .with("reason", "Unschedulable")
                .with("message", "0/3 nodes are available: 3 Insufficient cpu."));
    backend.put(1, pending);
    looked("pod");
    // Another snapshot that says the same.
    backend.put(1, pending);
    assertEquals(
        List.of(
            record(
                "1",
                "\"p-1\"",
                "\"node\":null,\"image\":null,\"unschedulable\":"
                    + "\"0/3 nodes are available: 3 Insufficient cpu.\",\"waiting\":null,"
                    + "\"created_wall_ns\":10000000000,\"scheduled_wall_ns\":null,"
                    + "\"prepared_wall_ns\":null,\"initialized_wall_ns\":null,"
                    + "\"started_wall_ns\":null")),
        looked("pod"));
    backend.put(1, running("p-1"));
    List<String> told = looked("pod");
    assertEquals(2, told.size());
    assertEquals(
        record(
            "1",
            "\"p-1\"",
            "\"node\":\"n1\",\"image\":\"spark:4\",\"unschedulable\":"
                + "\"0/3 nodes are available: 3 Insufficient cpu.\",\"waiting\":null,"
                + "\"created_wall_ns\":10000000000,\"scheduled_wall_ns\":12000000000,"
                + "\"prepared_wall_ns\":13000000000,\"initialized_wall_ns\":13000000000,"
                + "\"started_wall_ns\":20000000000"),
        told.get(1));
    // What becomes of it later says nothing about its start.
    backend.put(1, created("p-1"));
    assertEquals(2, looked("pod").size());
  }

  @Test
  void anImageThatCannotBePulledIsToldOnce() {
    for (String reason : List.of("ContainerCreating", "ErrImagePull", "ImagePullBackOff")) {
      Node pod = created("p-1");
      pod.at("status").add("containerStatuses", status("x", "waiting", "reason", reason));
      backend.put(1, pod);
      looked("pod");
    }
    List<String> told = looked("pod");
    assertEquals(2, told.size(), told.toString());
    assertTrue(told.get(0).contains("\"waiting\":null"), told.get(0));
    assertTrue(told.get(1).contains("\"waiting\":\"ErrImagePull\""), told.get(1));
  }

  @Test
  void ofSeveralContainersTheExecutorsCounts() {
    Node pod = created("p-1");
    pod.at("status")
        .add("containerStatuses", status("mesh", "running", "startedAt", "1970-01-01T00:00:15Z"))
        .add(
            "containerStatuses",
            status(PodReading.CONTAINER, "terminated", "startedAt", "1970-01-01T00:00:16Z"));
    backend.put(1, pod);
    assertTrue(looked("pod").get(0).contains("\"started_wall_ns\":16000000000"));
  }

  @Test
  void textsAreHarmless() {
    Node pod = created("a\"\n\u001b[31m\u0000,token=s3cret-value");
    pod.at("metadata").with("creationTimestamp", "yesterday");
    pod.at("spec").with("nodeName", "x" + "\ud83d\ude00".repeat(500));
    pod.at("status")
        .add("conditions", condition("PodScheduled", "True", "+999999-01-01T00:00:00Z"));
    backend.put(1, pod);
    backend.put(-1, created("below"));
    backend.put(1L << 40, created("beyond"));
    List<String> told = looked("pod");
    assertEquals(1, told.size(), told.toString());
    String line = told.get(0);
    assertTrue(line.contains("\"a\\\"\\u000a\\u001b[31m\\u0000,token=*"), line);
    assertTrue(line.contains("\"created_wall_ns\":null,\"scheduled_wall_ns\":null"), line);
    assertTrue(line.length() < 3_500, line);
    assertEquals(List.of(), looked("error"));
  }

  @Test
  void aModelThatIsAnotherIsNotedOnceAndLeftAlone() {
    backend.put(1, "no pod");
    looked("pod");
    backend.put(2, running("p-2"));
    assertEquals(List.of(), looked("pod"));
    List<String> errors = looked("error");
    assertEquals(1, errors.size(), errors.toString());
    assertTrue(errors.get(0).contains("\"where\":\"pods\""), errors.get(0));
  }

  @Test
  void aBackendWithoutPodsIsRefused() {
    assertThrows(
        ReflectiveOperationException.class, () -> new PodWatch("none", "a", null, recorder));
  }
}
