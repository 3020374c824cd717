package org.pyrometer.plugin.profiler;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * Paths for readers that treat some characters specially: a quote or {@code %p} in the JVM's log, a
 * comma in the profiler.
 */
final class PlainPath {
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9/._+-]+");

  private PlainPath() {}

  /**
   * The file's path, or one through a link to its folder that exists as long as this JVM.
   *
   * @throws IOException if the link cannot be created
   */
  static Path of(Path file) throws IOException {
    if (PLAIN.matcher(file.toString()).matches()) {
      return file;
    }
    Path link = Files.createTempDirectory("pyrometer-").resolve("raw");
    Files.createSymbolicLink(link, file.getParent());
    link.getParent().toFile().deleteOnExit();
    link.toFile().deleteOnExit();
    return link.resolve(file.getFileName());
  }
}
