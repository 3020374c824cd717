package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.spark.SparkConf;
import org.pyrometer.plugin.host.Patience;
import org.pyrometer.plugin.records.Recorder;
import org.pyrometer.plugin.records.Secrets;

/**
 * Puts the agent's chunks where only the application's own Hadoop client can write: HDFS, and
 * stores that are reached with the cluster's credentials.
 *
 * <p>The agent follows files, cuts them, bounds what waits and decides when a store is asked again;
 * here is only what {@linkplain RelayFolder it hands over}. Nobody of the application waits for
 * these threads. A file system that hangs takes a few of them with it, and never more.
 */
final class Relay {
  /** Chunks that are put at the same time: at the end all files have one, and little time. */
  static final int AT_ONCE = 4;

  /** Threads that may hang at the same time: then no other is begun until one comes back. */
  static final int MOST_STUCK = 8;

  private static final long LONGEST_NS = Patience.patient(30_000) * 1_000_000;
  private static final long FIRST_PAUSE_NS = 5_000_000;
  private static final long LONGEST_PAUSE_NS = 100_000_000;

  /** Attempts in vain after which nothing can be written there, as far as one can tell. */
  private static final int MOST_VAIN = 3;

  /** Longer than between two rounds of an agent. */
  private static final long IDLE_S = 30;

  private static final int SAID_MOST = 400;
  private static final String THREAD_NAME = "pyrometer-relay";

  private final String place;
  private final Path shipped;
  private final HadoopClient client;
  private final Recorder recorder;
  private final Consumer<String> unwritten;
  private final long longestNs;
  private final ThreadPoolExecutor threads;
  private final Map<String, Put> puts = new ConcurrentHashMap<>();
  private final AtomicInteger stuck = new AtomicInteger();

  /** Attempts that failed before the first that did not. */
  private final AtomicInteger vain = new AtomicInteger();

  private volatile boolean written;
  private HadoopStore store;
  private volatile RelayFolder folder;

  private Relay(
      String place,
      Path shipped,
      HadoopClient client,
      Recorder recorder,
      Consumer<String> unwritten,
      long longestNs) {
    this.place = place;
    this.shipped = shipped;
    this.client = client;
    this.recorder = recorder;
    this.unwritten = unwritten;
    this.longestNs = longestNs;
    this.threads =
        new ThreadPoolExecutor(
            AT_ONCE,
            AT_ONCE,
            IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            work -> daemon(work, THREAD_NAME + "-put"));
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * A relay to a place, which nothing is asked of yet.
   *
   * @param place where the agent would ship to
   * @param shipped the folder that it ships
   * @param conf settings of the application
   * @param recorder takes what goes wrong
   * @param unwritten takes, once, that nothing can be written there, and why: where that does not
   *     pass, nobody else can say so
   * @return null where an agent writes itself: into a folder, or where there is no Hadoop
   */
  static Relay to(
      String place, Path shipped, SparkConf conf, Recorder recorder, Consumer<String> unwritten) {
    return to(place, shipped, () -> HadoopClient.here(conf), recorder, unwritten, LONGEST_NS);
  }

  /** The same with another client, and another time after which an attempt is interrupted. */
  static Relay to(
      String place,
      Path shipped,
      Callable<HadoopClient> client,
      Recorder recorder,
      Consumer<String> unwritten,
      long longestNs) {
    if (Destination.folder(place) != null) {
      return null;
    }
    try {
      return new Relay(place, shipped, client.call(), recorder, unwritten, longestNs);
    } catch (Exception | LinkageError e) {
      recorder.error("relay", e);
      return null;
    }
  }

  /**
   * Begins, if it has not begun.
   *
   * @return why it does not; null if it does
   */
  synchronized String begin() {
    if (folder != null) {
      return null;
    }
    try {
      store = new HadoopStore(client, client.address(place));
      RelayFolder made = new RelayFolder(shipped);
      daemon(() -> run(made), THREAD_NAME).start();
      folder = made;
      return null;
    } catch (IOException | RuntimeException | LinkageError e) {
      return said(e);
    }
  }

  /** What an agent is told as its store; null if this has not begun. */
  String address() {
    RelayFolder begun = folder;
    return begun == null ? null : begun.address();
  }

  /** Has something done as the JVM ends, once Spark has stopped. */
  void atExit(Runnable last) {
    try {
      HadoopClient.atExit(last);
    } catch (RuntimeException | LinkageError e) {
      // The JVM ends already.
      recorder.error("relay_exit", e);
    }
  }

  private void run(RelayFolder from) {
    long pauseNs = FIRST_PAUSE_NS;
    while (true) {
      try {
        pauseNs = look(from) ? FIRST_PAUSE_NS : Math.min(2 * pauseNs, LONGEST_PAUSE_NS);
      } catch (NoSuchFileException e) {
        // The agent has removed all: it is done.
        return;
      } catch (Throwable e) {
        note(e);
        pauseNs = LONGEST_PAUSE_NS;
      }
      LockSupport.parkNanos(this, pauseNs);
    }
  }

  /** A thread that dies of anything would print that among what the application prints. */
  private void note(Throwable failure) {
    try {
      recorder.error("relay", failure);
    } catch (Throwable e) {
      // No memory is left: it is tried again.
      return;
    }
  }

  /** Begins to put what waits, and ends what takes too long; whether there is anything. */
  private boolean look(RelayFolder from) throws IOException {
    for (Put put : puts.values()) {
      put.look(System.nanoTime());
    }
    for (String name : from.waiting()) {
      if (puts.containsKey(name)) {
        continue;
      }
      Put put = new Put(from, name);
      if (stuck.get() >= MOST_STUCK) {
        put.failed("nothing more is put: " + MOST_STUCK + " attempts hang in " + place);
      } else {
        puts.put(name, put);
        threads.execute(put);
      }
    }
    return !puts.isEmpty();
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    // Of the application's only that which its client is used with.
    thread.setContextClassLoader(null);
    return thread;
  }

  /** What may be told of a failure, in one line. */
  private static String said(Throwable failure) {
    String message = failure.getMessage();
    boolean plain = message != null && failure.getClass() == IOException.class;
    String words = Secrets.text(plain ? message : failure.toString()).replaceAll("\\s+", " ");
    return words.substring(0, Math.min(words.length(), SAID_MOST));
  }

  /** A chunk that is put, and answered once. */
  private final class Put implements Runnable {
    private final RelayFolder from;
    private final String name;
    private final AtomicBoolean answered = new AtomicBoolean();
    private volatile Thread thread;
    private volatile long begunNs;
    private volatile boolean interrupted;
    private boolean abandoned;

    Put(RelayFolder from, String name) {
      this.from = from;
      this.name = name;
    }

    @Override
    public void run() {
      long cpuNs = cpuNs();
      begunNs = System.nanoTime();
      thread = Thread.currentThread();
      try {
        put();
      } catch (Throwable e) {
        // Without an answer it is still there, and put once more.
        note(e);
      } finally {
        ended(cpuNs);
      }
    }

    private void put() throws IOException {
      RelayFolder.Chunk chunk;
      try {
        chunk = from.take(name);
      } catch (NoSuchFileException e) {
        // The agent that left it was killed, and the next one took it back.
        return;
      } catch (IOException e) {
        failed(said(e));
        return;
      }
      try {
        store.put(chunk.key, chunk.object);
      } catch (Throwable e) {
        failed(interrupted ? noAnswer(longestNs) : said(e));
        return;
      }
      written = true;
      if (answered.compareAndSet(false, true)) {
        from.arrived(name);
      }
    }

    private void ended(long cpuBeforeNs) {
      synchronized (this) {
        thread = null;
        // It was meant for this attempt.
        Thread.interrupted();
        if (abandoned) {
          threads.setCorePoolSize(AT_ONCE + stuck.decrementAndGet());
        }
      }
      puts.remove(name, this);
      recorder.addHookTime(Math.max(0, cpuNs() - cpuBeforeNs));
    }

    /** Interrupts it if it takes too long, and leaves it to itself if that does not help. */
    synchronized void look(long nowNs) {
      Thread running = thread;
      if (running == null || abandoned || nowNs - begunNs < longestNs) {
        return;
      }
      if (!interrupted) {
        interrupted = true;
        running.interrupt();
      } else if (nowNs - begunNs >= 2 * longestNs) {
        abandoned = true;
        int count = stuck.incrementAndGet();
        threads.setMaximumPoolSize(AT_ONCE + MOST_STUCK);
        threads.setCorePoolSize(AT_ONCE + count);
        failed(noAnswer(2 * longestNs));
        recorder.error("relay_hangs", "a write to " + place + " hangs and cannot be interrupted");
        puts.remove(name, this);
      }
    }

    private String noAnswer(long afterNs) {
      return "no answer from " + place + " after " + afterNs / 1_000_000_000 + " s";
    }

    private void failed(String why) {
      try {
        if (answered.compareAndSet(false, true)) {
          from.failed(name, why);
          if (!written && vain.incrementAndGet() == MOST_VAIN) {
            unwritten.accept("cannot write to " + place + ": " + why);
          }
        }
      } catch (IOException | RuntimeException e) {
        note(e);
      }
    }
  }

  private static long cpuNs() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    return threads.isCurrentThreadCpuTimeSupported() ? threads.getCurrentThreadCpuTime() : 0;
  }
}
