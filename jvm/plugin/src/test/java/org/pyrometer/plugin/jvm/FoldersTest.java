package org.pyrometer.plugin.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FoldersTest {
  @Test
  void aFolderIsTriedAndLeftAsItWas(@TempDir Path folder) throws IOException {
    Path odd = Files.createDirectory(folder.resolve("a b%20,c"));
    assertTrue(Folders.takes(odd.toString()));
    assertTrue(Folders.takes(odd.toUri().toString()));
    try (var left = Files.list(odd)) {
      assertEquals(0, left.count());
    }
  }

  @Test
  void whatIsNoFolderTakesNothing(@TempDir Path folder) throws IOException {
    Path file = Files.createFile(folder.resolve("file"));
    assertFalse(Folders.takes(file.toString()));
    assertFalse(Folders.takes(folder.resolve("missing").toUri().toString()));
    assertFalse(Folders.takes("/proc"));
    assertFalse(Folders.takes("no folder: at all"));
  }

  @Test
  void onOtherMachinesNothingIsTried() {
    assertTrue(Folders.takes("hdfs://name/logs"));
  }
}
