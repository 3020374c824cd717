package org.pyrometer.plugin.tasks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.host.Host;
import org.pyrometer.plugin.profiler.Profiler;
import org.pyrometer.plugin.records.Recorder;

class TaskTrackerTest {
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private Recorder recorder;
  private TaskTracker tracker;

  @BeforeEach
  void start() {
    Settings settings = Settings.of(Map.of("mx.interval.ms", "0", "clock.interval.ms", "0"));
    recorder = new Recorder(written::write, settings);
    recorder.start();
    tracker =
        new TaskTracker(
            recorder, new Profiler(settings, recorder), new Contexts(settings, null, recorder));
  }

  @AfterEach
  void leave() {
    FakeTasks.leave();
  }

  private List<String> lines() {
    recorder.finish();
    return written
        .toString(UTF_8)
        .lines()
        .filter(line -> !line.contains("\"k\":\"bye\""))
        .collect(Collectors.toList());
  }

  private static long number(String line, String field) {
    Matcher found = Pattern.compile("\"" + field + "\":(-?\\d+)").matcher(line);
    assertTrue(found.find(), field + " in " + line);
    return Long.parseLong(found.group(1));
  }

  @Test
  void aTaskIsTwoRecordsWithItsIdsAndCosts() {
    FakeTasks.enter(3, 1, 17, Map.of("pyrometer.iteration", "2", "spark.sql.execution.id", "5"));
    tracker.started();
    byte[] garbage = new byte[4 << 20];
    garbage[garbage.length - 1] = 1;
    // Spark takes the context away before the end is reported.
    FakeTasks.leave();
    tracker.ended(true);
    List<String> lines = lines();
    assertEquals(2, lines.size());
    String end = lines.get(1);
    assertTrue(lines.get(0).startsWith("{\"k\":\"task_start\",\"tid\":" + Host.threadId() + ","));
    assertTrue(
        end.contains(
            "\"stage\":3,\"stage_attempt\":1,\"task\":17,\"partition\":4,\"attempt\":0,"
                + "\"sql\":5,\"iteration\":2,"),
        end);
    assertTrue(end.contains("\"ok\":true"));
    assertTrue(number(end, "end_ns") > number(end, "start_ns"));
    assertTrue(number(end, "cpu_ns") > 0);
    assertTrue(number(end, "alloc_bytes") >= garbage.length);
    assertTrue(number(end, "alloc_bytes") < garbage.length + (1 << 20));
  }

  @Test
  void aFailedTaskIsNotOk() {
    FakeTasks.enter(0, 0, 1, Map.of());
    tracker.started();
    tracker.ended(false);
    assertTrue(lines().get(1).contains("\"ok\":false"));
  }

  @Test
  void anEndWithoutAStartIsNothing() {
    tracker.ended(true);
    assertEquals(List.of(), lines());
  }

  @Test
  void aStartWithoutAContextIsAnError() {
    tracker.started();
    tracker.ended(true);
    List<String> lines = lines();
    assertEquals(1, lines.size());
    assertTrue(lines.get(0).contains("\"where\":\"task_start\""));
  }

  @Test
  void textThatIsNoNumberBecomesNull() {
    FakeTasks.enter(0, 0, 1, Map.of("pyrometer.iteration", "\"x"));
    tracker.started();
    assertTrue(lines().get(0).contains("\"iteration\":null"));
  }
}
