package org.pyrometer.workloads.truth;

import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that holds a monitor when it is asked to, for half a millisecond to one and a half: held
 * for one length each time, blocks would keep in step with samples, which then hit them too often
 * or too seldom.
 */
final class Holder {
  private static final long TURN_NS = 1_000_000;

  private final Object monitor = new Object();
  private final Semaphore asked = new Semaphore(0);
  private final Semaphore held = new Semaphore(0);

  @SuppressWarnings("unused")
  private long entered;

  Holder() {
    Thread thread = new Thread(this::serve, "truth-lock-holder");
    thread.setDaemon(true);
    thread.start();
  }

  /** Blocks the calling thread on a monitor that another one holds. */
  void block() {
    asked.release();
    held.acquireUninterruptibly();
    synchronized (monitor) {
      entered++;
    }
  }

  private void serve() {
    while (true) {
      asked.acquireUninterruptibly();
      synchronized (monitor) {
        held.release();
        LockSupport.parkNanos(TURN_NS / 2 + Calibrated.mix(System.nanoTime()) % TURN_NS);
      }
    }
  }
}
