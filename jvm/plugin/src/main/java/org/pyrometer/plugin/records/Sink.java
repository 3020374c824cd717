package org.pyrometer.plugin.records;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Where the writer's bytes go. */
public interface Sink {
  /**
   * Passes bytes to the system, so that they survive the death of this process.
   *
   * @throws IOException if they could not be written
   */
  void write(byte[] bytes) throws IOException;

  /**
   * A file that is appended to. A plain stream: a channel would be closed by an interrupt.
   *
   * @throws IOException if the file cannot be opened
   */
  static Sink file(Path path) throws IOException {
    FileOutputStream stream = new FileOutputStream(path.toFile(), true);
    return stream::write;
  }

  /** A file that is created, with its folder, by the first write. */
  static Sink laterFile(Path path) {
    return new Sink() {
      private OutputStream stream;

      @Override
      public void write(byte[] bytes) throws IOException {
        if (stream == null) {
          Files.createDirectories(path.getParent());
          stream = new FileOutputStream(path.toFile(), true);
        }
        stream.write(bytes);
      }
    };
  }
}
