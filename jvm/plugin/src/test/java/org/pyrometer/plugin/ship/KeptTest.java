package org.pyrometer.plugin.ship;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Event;
import org.pyrometer.plugin.records.Recorder;

class KeptTest {
  @TempDir Path folder;

  private final Settings settings =
      Settings.of(Map.of("ship.kept.mib", "2", "mx.interval.ms", "0", "clock.interval.ms", "0"));
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private final Recorder recorder = new Recorder(written::write, settings);

  @BeforeEach
  void start() {
    recorder.start();
  }

  private void grow(String name, long mib) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    try (RandomAccessFile made = new RandomAccessFile(file.toFile(), "rw")) {
      made.setLength(mib << 20);
    }
  }

  @Test
  void whatNothingShipsIsBounded() throws IOException {
    AtomicInteger stopped = new AtomicInteger();
    Runnable stop =
        () -> {
          stopped.incrementAndGet();
          recorder.takeNoMore();
        };
    Kept kept = new Kept(folder, settings, recorder, stop);
    kept.look(true);
    grow("profile.jfr", 50);
    kept.look(true);
    kept.look(false);
    grow("codegen/codegen.ndjson", 2);
    kept.look(false);
    assertEquals(0, stopped.get(), "what was shipped before does not count");
    assertTrue(recorder.offer(event()));
    grow("codegen/codegen.ndjson", 3);
    kept.look(false);
    kept.look(false);
    assertEquals(1, stopped.get());
    assertFalse(recorder.offer(event()));
    assertFalse(recorder.offer(event()));
    recorder.error("later", "no");
    recorder.finish();
    String records = written.toString(UTF_8);
    assertEquals(
        1, records.lines().filter(line -> line.contains("\"task\",\"n\"")).count(), records);
    assertTrue(records.contains("\"where\":\"kept_full\""), records);
    assertTrue(records.contains("2 MiB (spark.pyrometer.ship.kept.mib)"), records);
    assertTrue(
        records.matches("(?s).*kept_full\",\"message\":\"[^\"]*\",\"count\":1,\"mono_ns\":\\d.*"));
    assertTrue(records.contains("{\"k\":\"drop\",\"kind\":\"task\",\"count\":2}"), records);
    assertTrue(records.contains("\"where\":\"later\""), records);
  }

  @Test
  void aFolderThatCannotBeReadIsNoMeasure() throws IOException {
    Path link = folder.resolve("link");
    Path below = link.resolve("kept");
    Kept kept = new Kept(below, settings, recorder, () -> fail("it has not grown"));
    grow("kept/profile.jfr", 50);
    Files.createSymbolicLink(link, link);
    kept.look(false);
    Files.delete(link);
    Files.createSymbolicLink(link, folder);
    kept.look(false);
    kept.look(false);
    recorder.finish();
    String records = written.toString(UTF_8);
    assertTrue(records.contains("\"where\":\"kept\",\"message\":\"the size of " + below), records);
  }

  @Test
  void whatVanishesMeanwhileIsNoFailure() throws IOException {
    Kept kept = new Kept(folder.resolve("gone"), settings, recorder, () -> fail("it is empty"));
    kept.look(false);
    recorder.finish();
    assertFalse(written.toString(UTF_8).contains("error"), written.toString(UTF_8));
  }

  private static Event event() {
    return new Event() {
      @Override
      public String kind() {
        return "task";
      }

      @Override
      public void format(StringBuilder out) {
        out.append("{\"k\":\"task\",\"n\":1}\n");
      }
    };
  }
}
