package org.pyrometer.workloads.truth;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * The kernel's count of a thread's time in a run queue; of the thread that made it. Its time on a
 * CPU stands there too, but for a running thread only as of its last tick or switch: milliseconds
 * ago.
 */
final class Schedstat {
  private final RandomAccessFile file;
  private final byte[] text = new byte[128];

  Schedstat() {
    try {
      file = new RandomAccessFile("/proc/thread-self/schedstat", "r");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Time in the run queue. */
  long queuedNs() {
    try {
      file.seek(0);
      int length = file.read(text);
      return Long.parseLong(
          new String(text, 0, length, StandardCharsets.US_ASCII).split(" ", 3)[1]);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
