package org.pyrometer.plugin.jvm;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;

/** Whether a folder takes what is to be written there. */
public final class Folders {
  private static final int BYTES = 1 << 16;

  private Folders() {}

  /**
   * Whether this process can write a file into a folder, tried by writing one; not decided, and
   * therefore true, of one that is no folder of this machine.
   *
   * @param folder a path, or a URI
   */
  public static boolean takes(String folder) {
    boolean[] taken = {false};
    Bounded.run("pyrometer-folder", () -> taken[0] = tried(folder), failure -> {});
    return taken[0];
  }

  private static boolean tried(String folder) throws IOException {
    Path path;
    if (folder.startsWith("/")) {
      path = Path.of(folder);
    } else {
      URI uri = URI.create(folder);
      if (!"file".equals(uri.getScheme())) {
        return true;
      }
      path = Path.of(uri.getPath());
    }
    // Hadoop goes by the path without links, which a POSIX locale may not be able to say.
    if (!path.toFile().getCanonicalFile().isDirectory()) {
      return false;
    }
    Path file = Files.createTempFile(path, ".pyrometer-", "");
    try {
      // Mode bits and free inodes do not reveal a full disk.
      Files.write(file, new byte[BYTES]);
      return true;
    } finally {
      Files.delete(file);
    }
  }
}
