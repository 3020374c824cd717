package org.pyrometer.plugin.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SettingsTest {
  @Test
  void readsTheFileOfTheLauncher(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("a, b=c.properties");
    Files.writeString(
        file,
        "raw.dir=/tmp/a b,c=d/é\nconf.spark.x=C:\\\\y\\nz\nforce.spark.eventLog.enabled=true\n"
            + "append.spark.executor.extraJavaOptions=-Xlog:gc:file=/x -Da=b\n");
    Settings settings = Settings.load(file);
    assertEquals(Path.of("/tmp/a b,c=d/é"), settings.rawDir());
    assertEquals(Map.of("spark.x", "C:\\y\nz"), settings.withPrefix("conf."));
    assertEquals(
        Map.of("spark.executor.extraJavaOptions", "-Xlog:gc:file=/x -Da=b"),
        settings.withPrefix("append."));
    assertEquals(Map.of("raw.dir", "/tmp/a b,c=d/é"), settings.forExecutors());
  }

  @Test
  void executorsGetAllOfItInOneEntry() throws IOException {
    Map<String, String> values =
        Map.of("raw.dir", "/data/a b=c/é\n ", "empty", "", " #!:", "\\u12");
    Map<String, String> packed = Settings.packed(values);
    assertEquals(1, packed.size());
    assertFalse(packed.values().iterator().next().startsWith("#"));
    assertEquals(values, Settings.unpacked(packed));
    assertEquals(Map.of(), Settings.unpacked(Map.of("raw.dir", "/tmp")));
    assertEquals(Map.of(), Settings.unpacked(null));
  }

  @Test
  void applicationsDifferWhereOneSaysSomethingElseOrNothing() {
    Map<String, String> one = Map.of("raw.dir", "/a", "tasks", "off", "context", "on");
    Map<String, String> other = Map.of("raw.dir", "/b", "run_id", "7", "context", "on");
    assertEquals(Set.of("raw.dir", "run_id", "tasks"), Settings.unlike(one, other));
    assertEquals(Set.of(), Settings.unlike(one, one));
  }

  @Test
  void whatIsAbsentOrWrongHasItsDefault() {
    Settings settings =
        Settings.of(Map.of("mx.interval.ms", "x", "queue.capacity", "1", "tasks", "off"));
    assertNull(settings.rawDir());
    assertEquals(500, settings.number("mx.interval.ms", 500, 0));
    assertEquals(16, settings.number("queue.capacity", 65_536, 16));
    assertFalse(settings.isOn("tasks", true));
    assertTrue(settings.isOn("plugin", true));
  }
}
