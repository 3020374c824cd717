package org.pyrometer.plugin.profiler;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Recorder;

class ProfilerTest {
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();

  private String record(String command, Path file, boolean spin) {
    Settings settings = Settings.of(Map.of("asprof.command", command, "mx.interval.ms", "0"));
    Recorder recorder = new Recorder(written::write, settings);
    recorder.start();
    Profiler profiler = new Profiler(settings, recorder);
    profiler.start(file);
    profiler.watchThread();
    long end = System.nanoTime() + (spin ? 300_000_000L : 0);
    long sink = 1;
    while (System.nanoTime() < end) {
      sink = sink * 31 + 7;
    }
    assertTrue(sink != 0);
    profiler.stop();
    recorder.finish();
    return written
        .toString(UTF_8)
        .lines()
        .filter(line -> line.startsWith("{\"k\":\"profiler\""))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void recordsIntoAFolderWithACommaInItsName(@TempDir Path folder) throws IOException {
    Path raw = Files.createDirectory(folder.resolve("a, b"));
    Path file = raw.resolve("profile-driver-1.jfr");
    String record = record("start,event=ctimer,interval=1ms,wall=5ms,clock=monotonic", file, true);
    assertTrue(record.contains("\"started\":true"), record);
    assertTrue(record.contains("\"error\":null"), record);
    assertTrue(record.contains(",jfr,loglevel=none,filter,file="), record);
    byte[] bytes = Files.readAllBytes(file);
    assertArrayEquals("FLR\0".getBytes(UTF_8), Arrays.copyOf(bytes, 4));
    assertTrue(bytes.length > 1_000);
  }

  @Test
  void whatCannotStartIsRecordedAndNothingElseHappens(@TempDir Path folder) {
    String record = record("start,event=nonsense", folder.resolve("x.jfr"), false);
    assertTrue(record.contains("\"started\":false"), record);
    assertTrue(record.contains("nonsense"), record);
  }

  @Test
  void oneThatWasEndedKnowsIt(@TempDir Path folder) {
    Settings settings = Settings.of(Map.of("asprof.command", "start,event=ctimer"));
    Profiler profiler = new Profiler(settings, new Recorder(written::write, settings));
    profiler.stop();
    assertFalse(profiler.hasEnded(), "it never began");
    profiler.start(folder.resolve("profile-driver-1.jfr"));
    assertFalse(profiler.hasEnded());
    profiler.stop();
    assertTrue(profiler.hasEnded());
  }

  @Test
  void aJavaThatWouldWarnOnStderrIsLeftAlone() {
    assertTrue(Profiler.wouldWarn(25, List.of("-Xmx1g")));
    assertFalse(Profiler.wouldWarn(25, List.of("--enable-native-access=ALL-UNNAMED")));
    assertFalse(Profiler.wouldWarn(17, List.of()));
  }

  @Test
  void lessIsTriedStepByStep() {
    assertEquals(
        List.of(
            "start,event=cpu,interval=10ms,alloc=512k,lock=10ms,wall=50ms",
            "start,event=ctimer,interval=10ms,alloc=512k,lock=10ms,wall=50ms",
            "start,event=ctimer,interval=10ms,alloc=512k,wall=50ms",
            "start,event=ctimer,interval=10ms,wall=50ms"),
        List.copyOf(
            Profiler.attempts("start,event=cpu,interval=10ms,alloc=512k,lock=10ms,wall=50ms")));
  }
}
