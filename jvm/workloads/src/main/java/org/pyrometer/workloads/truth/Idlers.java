package org.pyrometer.workloads.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Threads that keep CPUs busy while any task asks for it. */
final class Idlers {
  private static final List<Thread> THREADS = new ArrayList<>();
  private static volatile int asked;

  private Idlers() {}

  /** Has {@code count} threads or more compute until {@link #stop} is called as often. */
  static synchronized void start(int count) {
    asked++;
    while (THREADS.size() < count) {
      Thread thread = new Thread(null, Idlers::work, "truth-idler-" + THREADS.size(), 1 << 18);
      thread.setDaemon(true);
      thread.start();
      THREADS.add(thread);
    }
    THREADS.forEach(LockSupport::unpark);
  }

  static synchronized void stop() {
    asked--;
  }

  private static void work() {
    while (true) {
      if (asked == 0) {
        LockSupport.park();
      } else {
        Calibrated.UserFunction.spin(1);
      }
    }
  }
}
