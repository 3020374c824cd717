package shop;

import org.apache.spark.sql.api.java.UDF4;

/**
 * Price after some work; before the last sales of some first attempts, a part of the heap is held
 * for a moment. Where that is too much, the attempt fails, or does without.
 */
public final class HeldInHeap implements UDF4<Long, Long, Integer, Boolean, Long> {
  private static final int PART = 256 << 10;

  @Override
  public Long call(Long sale, Long sales, Integer mebibytes, Boolean canDoWithout) {
    if (Attempt.isAtItsEnd(sale, sales)) {
      try {
        hold(mebibytes);
      } catch (OutOfMemoryError full) {
        if (!canDoWithout) {
          throw full;
        }
      }
    }
    return Price.after(sale, Attempt.ROUNDS);
  }

  private static void hold(int mebibytes) {
    byte[][] parts = new byte[4 * mebibytes][];
    for (int part = 0; part < parts.length; part++) {
      parts[part] = new byte[PART];
    }
    if (parts[parts.length / 2][0] != 0) {
      throw new IllegalStateException("memory of the heap begins as zeros");
    }
  }
}
