package org.pyrometer.plugin.ship;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Event;
import org.pyrometer.plugin.records.Recorder;

class KeptTest {
  @TempDir Path folder;

  private void grow(String name, long mib) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    try (RandomAccessFile made = new RandomAccessFile(file.toFile(), "rw")) {
      made.setLength(mib << 20);
    }
  }

  @Test
  void whatNothingShipsIsBounded() throws IOException {
    Settings settings =
        Settings.of(Map.of("ship.kept.mib", "2", "mx.interval.ms", "0", "clock.interval.ms", "0"));
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    Recorder recorder = new Recorder(written::write, settings);
    recorder.start();
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
    assertTrue(records.contains("{\"k\":\"drop\",\"kind\":\"task\",\"count\":2}"), records);
    assertTrue(records.contains("\"where\":\"later\""), records);
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
