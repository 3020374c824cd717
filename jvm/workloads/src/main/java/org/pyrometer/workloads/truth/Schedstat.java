package org.pyrometer.workloads.truth;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * The kernel's count of a thread's time on a CPU and in a run queue; of the thread that made it.
 */
final class Schedstat {
  private final RandomAccessFile file;
  private final byte[] text = new byte[128];
  private long ranNs;
  private long queuedNs;

  Schedstat() {
    try {
      file = new RandomAccessFile("/proc/thread-self/schedstat", "r");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Schedstat read() {
    try {
      file.seek(0);
      int length = file.read(text);
      String[] numbers = new String(text, 0, length, StandardCharsets.US_ASCII).split(" ", 3);
      ranNs = Long.parseLong(numbers[0]);
      queuedNs = Long.parseLong(numbers[1]);
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Time in the run queue. */
  long queuedNs() {
    return queuedNs;
  }

  /** Time on a CPU or in the run queue. */
  long runnableNs() {
    return ranNs + queuedNs;
  }
}
