package org.pyrometer.plugin;

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

class GcLogTest {
  @Test
  void isSwitchedOnFromInside(@TempDir Path folder) throws IOException {
    Path raw = Files.createDirectory(folder.resolve("a, b=c"));
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    Settings settings = Settings.of(Map.of("gclog.what", "gc*,safepoint"));
    Recorder recorder = new Recorder(written::write, settings);
    recorder.start();
    GcLog.start(settings, raw, recorder);
    System.gc();
    recorder.farewell();
    assertEquals(-1, written.toString(UTF_8).indexOf("gc_log"), written.toString(UTF_8));
    String log = Files.readString(raw.resolve("gc-" + ProcessHandle.current().pid() + ".log"));
    assertTrue(log.contains("Pause Full (System.gc())"), log);
    // [monotonic ns][uptime ns][tid][level][tags]
    assertTrue(log.lines().findFirst().orElse("").matches("\\[\\d+ns\\]\\[\\d+ns\\]\\[\\d+\\].*"));
  }
}
