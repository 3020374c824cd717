package org.pyrometer.workloads.truth;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Work of a known duration, called for a row by {@code java_method}: a share of the time goes to a
 * cause, the rest to useful work, in turns that the thread measures itself, by its CPU clock or,
 * where the cause sleeps, by the monotonic clock. So the share holds on any machine. The length of
 * rows and turns varies, lest they and samples keep in step.
 */
public final class Calibrated {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final long TURN_NS = 1_000_000;

  /** Least time between two readings of the clock, each a microsecond or two of the cause's. */
  private static final long APART_NS = TURN_NS / 5;

  private static final int CAUSE = 0;
  private static final int USEFUL = 1;

  /** What a thread still owes to the cause and to useful work: less than 0 after a long turn. */
  private static final ThreadLocal<double[]> OWED = ThreadLocal.withInitial(() -> new double[2]);

  private static final ThreadLocal<byte[]> OUT = ThreadLocal.withInitial(() -> new byte[1 << 14]);
  private static final byte[] PACKED;
  private static final int PACKED_LENGTH;

  static {
    byte[] plain = new byte[1 << 14];
    for (int i = 0; i < plain.length; i++) {
      plain[i] = (byte) (mix(i) & 15);
    }
    Deflater deflater = new Deflater();
    deflater.setInput(plain);
    deflater.finish();
    PACKED = new byte[plain.length + 64];
    PACKED_LENGTH = deflater.deflate(PACKED);
    deflater.end();
  }

  private Calibrated() {}

  /**
   * Works for one row.
   *
   * @param cause {@code sleep}, {@code udf}, {@code cast}, {@code decompression}, {@code
   *     serialisation} or {@code page_faults}
   * @param causeNs nanoseconds for the cause: 0 leaves it out
   * @param usefulNs nanoseconds for useful work
   * @param id the row
   * @return a value that follows from {@code id} alone
   */
  public static long row(String cause, long causeNs, long usefulNs, long id) {
    String useful = cause.equals("udf") ? "decompression" : "udf";
    boolean wall = cause.equals("sleep");
    double[] owed = OWED.get();
    double size = size(id);
    owed[CAUSE] += size * causeNs;
    owed[USEFUL] += size * usefulNs;
    while (owed[CAUSE] > 0 || owed[USEFUL] > 0) {
      // Whichever is further behind in proportion: the two end together.
      boolean causesTurn = owed[CAUSE] * usefulNs > owed[USEFUL] * causeNs || owed[USEFUL] <= 0;
      owed[causesTurn ? CAUSE : USEFUL] -= turn(causesTurn ? cause : useful, wall, id);
    }
    return mix(id);
  }

  /**
   * How much of its time a row takes: a half to one and a half, one on average. Rows of one length
   * would keep in step with a profiler whose interval is a multiple of it, which then sees the same
   * part of every row.
   */
  static double size(long id) {
    return 0.5 + (mix(id) & 1023) / 1023.0;
  }

  private static long turn(String kind, boolean wall, long seed) {
    long start = now(wall);
    long length = TURN_NS / 2 + mix(start) % TURN_NS;
    long end = start;
    int steps = 1;
    while (end - start < length) {
      long before = end;
      for (int i = 0; i < steps; i++) {
        step(kind, seed);
      }
      end = now(wall);
      if (end - before < APART_NS) {
        steps *= 2;
      }
    }
    return end - start;
  }

  private static long now(boolean wall) {
    return wall ? System.nanoTime() : THREADS.getCurrentThreadCpuTime();
  }

  private static void step(String kind, long seed) {
    switch (kind) {
      case "sleep":
        sleep();
        break;
      case "serialisation":
        Records.roundTrip();
        break;
      case "page_faults":
        Pages.touch();
        break;
      case "udf":
        UserFunction.spin(seed);
        break;
      case "cast":
        parse(seed);
        break;
      case "decompression":
        inflate();
        break;
      default:
        throw new IllegalArgumentException("no cause " + kind);
    }
  }

  private static void sleep() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted in its sleep", e);
    }
  }

  private static void parse(long seed) {
    double sum = 0;
    for (int i = 0; i < 200; i++) {
      sum += Double.parseDouble(Double.toString(seed * 1e-3 + i));
    }
    if (Double.isNaN(sum)) {
      throw new IllegalStateException("no sum of numbers");
    }
  }

  private static void inflate() {
    Inflater inflater = new Inflater();
    try {
      inflater.setInput(PACKED, 0, PACKED_LENGTH);
      byte[] out = OUT.get();
      if (inflater.inflate(out) != out.length) {
        throw new IllegalStateException("inflated to another length");
      }
    } catch (DataFormatException e) {
      throw new IllegalStateException(e);
    } finally {
      inflater.end();
    }
  }

  /** The finaliser of splitmix64 (Steele, Lea, Flood 2014), without its sign. */
  static long mix(long id) {
    long z = id + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return (z ^ (z >>> 31)) >>> 1;
  }

  /**
   * A user's function, as far as a profiler can see. It has more than 325 bytes of bytecode, so
   * that it is never inlined (FreqInlineSize): in the arithmetic of a loop the compiler keeps no
   * debug information, and a profiler takes the nearest, which may be that of another branch of the
   * same compiled method.
   */
  static final class UserFunction {
    static void spin(long seed) {
      long value = seed;
      for (int i = 0; i < 182; i++) {
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
        value = mix(mix(mix(mix(mix(mix(mix(mix(mix(mix(value))))))))));
      }
      if (value == seed) {
        throw new IllegalStateException("mix has a cycle");
      }
    }
  }
}
