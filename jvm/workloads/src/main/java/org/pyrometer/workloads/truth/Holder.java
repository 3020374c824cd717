package org.pyrometer.workloads.truth;

import java.util.concurrent.Semaphore;

/** A thread that holds a monitor for a millisecond when it is asked to. */
final class Holder {
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
        Calibrated.sleep();
      }
    }
  }
}
