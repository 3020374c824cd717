package org.pyrometer.plugin.profiler;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Recorder;

class VmLogTest {
  private static final Map<String, String> ASKED =
      Map.of("gclog.what", "gc*,safepoint", "jitlog.what", "jit+compilation=debug");

  @Test
  void isSwitchedOnFromInside(@TempDir Path folder) throws IOException {
    Path raw = Files.createDirectory(folder.resolve("a, b=\"c\" %p 'd' é"));
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    Settings settings = Settings.of(ASKED);
    Recorder recorder = new Recorder(written::write, settings);
    recorder.start();
    VmLog.startAll(settings, raw, "executor3", recorder);
    System.gc();
    VmLog.stopAll(raw, "executor3", recorder);
    long length = Files.size(raw.resolve("gc-executor3-" + ProcessHandle.current().pid() + ".log"));
    System.gc();
    recorder.finish();
    assertEquals(-1, written.toString(UTF_8).indexOf("_log"), written.toString(UTF_8));
    String name = "executor3-" + ProcessHandle.current().pid() + ".log";
    String log = Files.readString(raw.resolve("gc-" + name));
    assertTrue(log.contains("Pause Full (System.gc())"), log);
    assertEquals(length, log.getBytes(UTF_8).length, "ended as it was begun");
    assertTrue(log.contains("] Using "), log);
    assertEquals(log.contains("Using G1"), log.contains("] Heap Region Size: "), log);
    // [monotonic ns][uptime ns][tid][level][tags]
    assertTrue(log.lines().findFirst().orElse("").matches("\\[\\d+ns\\]\\[\\d+ns\\]\\[\\d+\\].*"));
    assertTrue(Files.exists(raw.resolve("jit-" + name)));
  }

  @Test
  void asksForReasonsOnlyWhereTheJvmKnowsTheTag() {
    Settings settings = Settings.of(ASKED);
    assertEquals("jit+compilation=debug", VmLog.what("jit", settings, 17));
    assertEquals("jit+compilation=debug,deoptimization=debug", VmLog.what("jit", settings, 21));
    assertEquals("gc*,safepoint", VmLog.what("gc", settings, 21));
    assertEquals("", VmLog.what("jit", Settings.of(Map.of()), 21));
  }
}
