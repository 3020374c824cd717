package org.pyrometer.plugin.host;

import java.time.Instant;

/** Readings of the monotonic clock and of Unix time that belong together. */
public final class Clocks {
  private Clocks() {}

  /** Unix time, ns. */
  public static long wallNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  /**
   * Reads both clocks.
   *
   * @return monotonic ns and wall ns, the closest of three pairs
   */
  public static long[] pair() {
    long best = Long.MAX_VALUE;
    long[] pair = new long[2];
    for (int i = 0; i < 3; i++) {
      long before = System.nanoTime();
      long wall = wallNs();
      long after = System.nanoTime();
      if (after - before < best) {
        best = after - before;
        pair[0] = before + (after - before) / 2;
        pair[1] = wall;
      }
    }
    return pair;
  }
}
