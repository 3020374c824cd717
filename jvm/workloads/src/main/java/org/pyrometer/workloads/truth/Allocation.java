package org.pyrometer.workloads.truth;

/** Rows that allocate a declared number of bytes in a declared time. */
public final class Allocation {
  private static final int CHUNK = 16 << 10;
  private static final int HEADER = 16;
  private static final ThreadLocal<long[]> OWED = ThreadLocal.withInitial(() -> new long[2]);

  /** Where arrays go, lest the compiler leaves them out. */
  @SuppressWarnings("unused")
  private static volatile byte[] last;

  private Allocation() {}

  /**
   * Works for {@code wallNs}, and allocates {@code bytes} evenly over that time.
   *
   * @return a value that follows from {@code id} alone
   */
  public static long row(long bytes, long wallNs, long id) {
    long[] owed = OWED.get();
    owed[0] += bytes;
    owed[1] += wallNs;
    long then = System.nanoTime();
    while (owed[0] > 0 || owed[1] > 0) {
      if (owed[0] > 0 && (owed[1] <= 0 || (double) owed[0] * wallNs > (double) owed[1] * bytes)) {
        last = new byte[CHUNK - HEADER];
        owed[0] -= CHUNK;
      } else {
        Calibrated.UserFunction.spin(id);
      }
      long now = System.nanoTime();
      owed[1] -= now - then;
      then = now;
    }
    return Calibrated.mix(id);
  }
}
