package org.pyrometer.plugin.records;

import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * Whole lines on their way to a sink that may fail for a while, a full disk for example.
 *
 * <p>A failed write may leave half a line, which the next one ends; for a second after it no write
 * is tried.
 */
public final class LineFile {
  private static final long RETRY_NS = 1_000_000_000L;

  private final Sink sink;
  private final Consumer<Exception> failed;
  private boolean torn;
  private boolean waiting;
  private long retryAt;

  /**
   * A file for one thread.
   *
   * @param sink where the bytes go
   * @param failed called with every write that failed
   */
  public LineFile(Sink sink, Consumer<Exception> failed) {
    this.sink = sink;
    this.failed = failed;
  }

  /**
   * Passes lines to the system.
   *
   * @param lines text that ends with a line feed
   * @return false if they are lost
   */
  public boolean write(CharSequence lines) {
    return write(lines.toString().getBytes(StandardCharsets.UTF_8));
  }

  /** The same of lines that are bytes already. */
  public boolean write(byte[] lines) {
    long now = System.nanoTime();
    if (waiting && now - retryAt < 0) {
      return false;
    }
    try {
      if (torn) {
        sink.write(new byte[] {'\n'});
        torn = false;
      }
      sink.write(lines);
      waiting = false;
      return true;
    } catch (Exception e) {
      torn = true;
      waiting = true;
      retryAt = now + RETRY_NS;
      failed.accept(e);
      return false;
    }
  }
}
