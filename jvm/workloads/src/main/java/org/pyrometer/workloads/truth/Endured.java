package org.pyrometer.workloads.truth;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;

/**
 * Work of a known duration, called for a row by {@code java_method}, during which a task must
 * endure a cause that comes from outside its thread: a collection stops it, threads without work of
 * their own take the CPUs, another thread holds a monitor. A clock shows what a thread has endured,
 * and the thread brings the cause about until its share is reached; the rest of its time is useful
 * work. So the share holds on any machine, and what other tasks bring about counts too.
 */
public final class Endured {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final int CAUSE = 0;
  private static final int USEFUL = 1;

  /** What a thread still owes to the cause and to all else: less than 0 after a long turn. */
  private static final ThreadLocal<double[]> OWED = ThreadLocal.withInitial(() -> new double[2]);

  private Endured() {}

  /**
   * Works for one row.
   *
   * @param cause {@code gc}, {@code run_queue} or {@code lock}
   * @param causeNs nanoseconds that the cause takes from the thread: 0 leaves it out
   * @param usefulNs nanoseconds for all else
   * @param id the row
   * @return a value that follows from {@code id} alone
   */
  public static long row(String cause, long causeNs, long usefulNs, long id) {
    Pressure pressure = pressure(cause);
    double[] owed = OWED.get();
    double size = Calibrated.size(id);
    owed[CAUSE] += size * causeNs;
    owed[USEFUL] += size * usefulNs;
    long then = System.nanoTime();
    long enduredThen = pressure.enduredNs();
    while (owed[CAUSE] > 0 || owed[USEFUL] > 0) {
      boolean behind = owed[CAUSE] * usefulNs > owed[USEFUL] * causeNs || owed[USEFUL] <= 0;
      if (behind && causeNs > 0) {
        pressure.bring((double) causeNs / usefulNs);
      } else {
        Calibrated.UserFunction.spin(id);
      }
      long now = System.nanoTime();
      long enduredNow = pressure.enduredNs();
      owed[CAUSE] -= enduredNow - enduredThen;
      owed[USEFUL] -= now - then - (enduredNow - enduredThen);
      then = now;
      enduredThen = enduredNow;
    }
    if (causeNs == 0) {
      owed[CAUSE] = 0; // What befell it anyway is no credit.
    }
    return Calibrated.mix(id);
  }

  private static Pressure pressure(String cause) {
    switch (cause) {
      case "gc":
        return Garbage.ONLY;
      case "run_queue":
        return Crowd.MINE.get();
      case "lock":
        return Monitor.MINE.get();
      default:
        throw new IllegalArgumentException("no cause " + cause);
    }
  }

  /** A cause with a clock. */
  private interface Pressure {
    /** Time that it has taken from this thread so far. */
    long enduredNs();

    /** Brings some of it about. */
    void bring(double strength);
  }

  /** Collections of the whole JVM: small objects that survive a young collection or two. */
  private static final class Garbage implements Pressure {
    static final Garbage ONLY = new Garbage();
    private static final int HELD = 1 << 17;
    private static final int STEP = 1 << 12;
    private static final double MOST_BY_ALLOCATION = 2.5;
    private static final ThreadLocal<Node[]> RING = ThreadLocal.withInitial(() -> new Node[HELD]);
    private static final ThreadLocal<int[]> AT = ThreadLocal.withInitial(() -> new int[1]);
    private final List<GarbageCollectorMXBean> collectors =
        ManagementFactory.getGarbageCollectorMXBeans();

    @Override
    public long enduredNs() {
      long millis = 0;
      for (GarbageCollectorMXBean collector : collectors) {
        millis += collector.getCollectionTime();
      }
      return millis * 1_000_000;
    }

    @Override
    public void bring(double strength) {
      if (strength > MOST_BY_ALLOCATION) {
        // Allocating would itself take more time than is left beside the share.
        System.gc();
        return;
      }
      Node[] ring = RING.get();
      int[] at = AT.get();
      for (int i = 0; i < STEP; i++) {
        at[0] = (at[0] + 1) & (HELD - 1);
        // Linked for a few nodes: a collector follows pointers.
        ring[at[0]] = new Node((i & 7) == 0 ? null : ring[(at[0] - 1) & (HELD - 1)]);
      }
    }

    private static final class Node {
      @SuppressWarnings("unused")
      private final Node next;

      Node(Node next) {
        this.next = next;
      }
    }
  }

  /** Threads that compute for nothing; the kernel says how long a thread waited for a CPU. */
  private static final class Crowd implements Pressure {
    static final ThreadLocal<Crowd> MINE = ThreadLocal.withInitial(Crowd::new);
    private static final long PATIENCE_NS = 20_000_000;
    private final Schedstat schedstat = new Schedstat();

    @Override
    public long enduredNs() {
      return schedstat.queuedNs();
    }

    @Override
    public void bring(double strength) {
      int cpus = Runtime.getRuntime().availableProcessors();
      Idlers.start(1 + (int) Math.ceil(cpus * 1.2 * strength));
      try {
        long start = System.nanoTime();
        long before = enduredNs();
        while (enduredNs() == before && System.nanoTime() - start < PATIENCE_NS) {
          Calibrated.UserFunction.spin(start);
        }
      } finally {
        Idlers.stop();
      }
    }
  }

  /** A monitor that another thread holds: the time at it without the wait for a CPU thereafter. */
  private static final class Monitor implements Pressure {
    static final ThreadLocal<Monitor> MINE = ThreadLocal.withInitial(Monitor::new);
    private final Schedstat schedstat = new Schedstat();
    private final Holder holder = new Holder();
    private long blockedNs;

    @Override
    public long enduredNs() {
      return blockedNs;
    }

    @Override
    public void bring(double strength) {
      long before = asleepNs();
      holder.block();
      blockedNs += Math.max(0, asleepNs() - before);
    }

    /** Since any one moment; a difference of two says how long it slept in between. */
    private long asleepNs() {
      return System.nanoTime() - THREADS.getCurrentThreadCpuTime() - schedstat.queuedNs();
    }
  }
}
