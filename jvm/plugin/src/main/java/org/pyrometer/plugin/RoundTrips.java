package org.pyrometer.plugin;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import org.pyrometer.plugin.records.Event;
import org.pyrometer.plugin.records.Json;
import org.pyrometer.plugin.records.Recorder;

/**
 * Asks the driver what its CLOCK_MONOTONIC says, now and then, on a thread of its own: question and
 * answer bound this host's clock against the driver's.
 *
 * <p>One question is under way at a time, and nobody waits for it but this thread. The first ones
 * follow quickly, as many an application is short.
 */
final class RoundTrips {
  /** What an executor asks; the driver answers with a {@link Long}. Of the JDK, as both know it. */
  static final String QUESTION = "pyrometer.mono_ns";

  /** Name of the thread; accounted as ours. */
  static final String THREAD_NAME = "pyrometer-ping";

  private static final long FIRST_WAIT_MS = 1_000;

  private final Driver driver;
  private final Recorder recorder;
  private final long intervalMs;
  private final Thread thread;
  private volatile boolean ended;
  private long countedCpuNs;

  /** The driver's half of the plugin. */
  interface Driver {
    /**
     * Asks, and waits for the answer.
     *
     * @throws Exception if there is none
     */
    Object ask(Object question) throws Exception;
  }

  /**
   * Round trips that begin once {@linkplain #start started}.
   *
   * @param driver who is asked
   * @param recorder where the times go
   * @param intervalMs from one answer to the next question, above 0
   */
  RoundTrips(Driver driver, Recorder recorder, long intervalMs) {
    this.driver = driver;
    this.recorder = recorder;
    this.intervalMs = intervalMs;
    this.thread = new Thread(this::run, THREAD_NAME);
    thread.setDaemon(true);
  }

  /** Starts the thread. */
  void start() {
    thread.start();
  }

  /** Ends the thread, without waiting for it. */
  void end() {
    ended = true;
    thread.interrupt();
  }

  /** The thread, for tests. */
  Thread thread() {
    return thread;
  }

  private void run() {
    try {
      long waitMs = Math.min(FIRST_WAIT_MS, intervalMs);
      while (!ended) {
        once();
        Thread.sleep(waitMs);
        waitMs = Math.min(2 * waitMs, intervalMs);
      }
    } catch (Throwable e) {
      // An interrupt ends it; and a thread that dies of anything else must not print that.
      ended = true;
    }
  }

  private void once() throws InterruptedException {
    try {
      long sentNs = System.nanoTime();
      Object answer = driver.ask(QUESTION);
      long receivedNs = System.nanoTime();
      if (answer instanceof Long) {
        recorder.offer(new Ping(sentNs, (Long) answer, receivedNs));
      } else {
        recorder.error("ping", "the driver does not know the question");
      }
      count();
    } catch (InterruptedException e) {
      throw e;
    } catch (Throwable e) {
      if (!ended) {
        recorder.error("ping", e);
      }
    }
  }

  /** Adds what this thread took to our own CPU. */
  private void count() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    if (threads.isCurrentThreadCpuTimeSupported()) {
      long cpuNs = threads.getCurrentThreadCpuTime();
      recorder.addHookTime(Math.max(0, cpuNs - countedCpuNs));
      countedCpuNs = Math.max(cpuNs, countedCpuNs);
    }
  }

  private static final class Ping implements Event {
    private final long sentNs;
    private final long driverNs;
    private final long receivedNs;

    Ping(long sentNs, long driverNs, long receivedNs) {
      this.sentNs = sentNs;
      this.driverNs = driverNs;
      this.receivedNs = receivedNs;
    }

    @Override
    public String kind() {
      return "ping";
    }

    @Override
    public void format(StringBuilder out) {
      new Json(out)
          .open(kind())
          .put("sent_mono_ns", sentNs)
          .put("driver_mono_ns", driverNs)
          .put("received_mono_ns", receivedNs)
          .close();
    }
  }
}
