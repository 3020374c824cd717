package org.pyrometer.plugin.ship;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PrivateFolderTest {
  @TempDir Path base;

  @Test
  void theFoldersOfTheManagerAreTriedBeforeTheSetting() {
    String temporary = System.getProperty("java.io.tmpdir");
    assertEquals(List.of(temporary, ""), List.copyOf(PrivateFolder.places(Map.of(), null)));
    Map<String, String> container = Map.of("LOCAL_DIRS", "/y1, /y2,,/y1", "SPARK_LOCAL_DIRS", "/s");
    assertEquals(
        List.of(temporary, "/s", "/y1", "/y2", "/l", ""),
        List.copyOf(PrivateFolder.places(container, "/l,/s")));
  }

  @Test
  void whereNoneCanBeWrittenTheMessageSaysWhyAndWhatToDo() throws IOException {
    String missing = base.resolve("none").toString();
    String file = Files.writeString(base.resolve("file"), "").toString();
    IOException refused =
        assertThrows(
            IOException.class, () -> PrivateFolder.first(List.of(missing, file, "a\0"), "ours-"));
    String said = refused.getMessage();
    assertTrue(said.contains(missing + ": NoSuchFileException"), said);
    assertTrue(said.contains(file + ": FileSystemException, Not a directory"), said);
    assertTrue(said.contains("InvalidPathException, Nul character"), said);
    assertTrue(said.contains("-Djava.io.tmpdir="), said);
    assertTrue(said.contains("spark.local.dir"), said);
  }
}
