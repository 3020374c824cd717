package org.pyrometer.plugin.jvm;

import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.pyrometer.plugin.host.Patience;

/**
 * Work on files, on a separate thread: a file system may hang, and the application's thread waits
 * for a few seconds at most.
 */
public final class Bounded {
  /** Longest time that an application's thread waits for us here, in milliseconds. */
  static final long LONGEST_MS = Patience.patient(5_000);

  private Bounded() {}

  /** Work that may fail. */
  public interface Work {
    /**
     * Does the work.
     *
     * @throws Exception whatever goes wrong
     */
    void run() throws Exception;
  }

  /**
   * Does the work, or leaves it to itself when its time is up. Never throws.
   *
   * @param name of the thread
   * @param work what is done
   * @param failed called with what went wrong, a {@link TimeoutException} if it takes too long
   * @return whether it was done
   */
  public static boolean run(String name, Work work, Consumer<Throwable> failed) {
    return run(name, work, failed, LONGEST_MS);
  }

  /** The same with another time. */
  public static boolean run(String name, Work work, Consumer<Throwable> failed, long longestMs) {
    try {
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      Thread thread =
          new Thread(
              () -> {
                try {
                  work.run();
                } catch (Throwable e) {
                  thrown.set(e);
                }
              },
              name);
      thread.setDaemon(true);
      thread.start();
      if (!ended(thread, longestMs)) {
        thrown.set(new TimeoutException(name + " took more than " + longestMs + " ms"));
      }
      if (thrown.get() != null) {
        failed.accept(thrown.get());
      }
      return thrown.get() == null;
    } catch (Throwable e) {
      // No thread or no memory available: the work is not done, and nothing can be reported.
      return false;
    }
  }

  /** Waits for a thread; an interrupt is for the application and does not end the waiting. */
  private static boolean ended(Thread thread, long longestMs) {
    long until = System.nanoTime() + longestMs * 1_000_000;
    boolean interrupted = false;
    try {
      while (thread.isAlive()) {
        long leftMs = (until - System.nanoTime()) / 1_000_000;
        if (leftMs <= 0) {
          return false;
        }
        try {
          thread.join(leftMs);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      return true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
