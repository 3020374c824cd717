package org.pyrometer.plugin.records;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.host.Clocks;
import org.pyrometer.plugin.host.Patience;

/**
 * The records of one JVM: a bounded queue and one daemon thread that writes them.
 *
 * <p>A caller takes no lock and never waits: what does not fit into the queue, and what cannot be
 * written, is dropped and counted by kind. Nothing here throws into the caller.
 */
public final class Recorder {
  /** Name of the writer's thread; accounted as ours. */
  public static final String THREAD_NAME = "pyrometer-writer";

  private static final int BATCH = 1024;

  /** A number that somebody mistyped is not to fill the heap. */
  private static final long MOST_QUEUED = 1 << 20;

  private static final long FINISH_TIMEOUT_MS = Patience.patient(2_000);
  private static final long RETRY_NS = 1_000_000_000L;
  private static final long RARELY_NS = 60_000_000_000L;

  private final LineFile file;
  private final Ring<Event> queue;
  private final long tickNs;
  private final long seriesNs;
  private final long clockNs;
  private final long codegenNs;
  private final Thread thread;

  private final LongAdder hookNs = new LongAdder();
  private final Map<String, LongAdder> dropped = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> errors = new ConcurrentHashMap<>();
  private final AtomicReference<CountDownLatch> finishing = new AtomicReference<>();
  private volatile boolean dead;
  private volatile boolean paused;
  private volatile boolean full;
  private final List<Runnable> looks = new CopyOnWriteArrayList<>();

  // Only the writer's thread touches what follows.
  private final StringBuilder text = new StringBuilder(1 << 16);
  private final Json json = new Json(text);
  private final List<Event> batch = new ArrayList<>(BATCH);
  private long written;
  private long reportedDrops;
  private long finishWritten = -1;
  private Watched watched;
  // Created here: loading their classes takes longer than everything else in a start.
  private MxSeries series;
  private ThreadMXBean threads;

  /**
   * A recorder that writes to {@code sink} once {@linkplain #start started}.
   *
   * @param sink where lines go
   * @param settings intervals and the capacity of the queue
   */
  public Recorder(Sink sink, Settings settings) {
    this.file = new LineFile(sink, failure -> error("write", failure));
    long capacity = settings.number("queue.capacity", 65_536, 16);
    this.queue = new Ring<>((int) Math.min(capacity, MOST_QUEUED));
    // Without the plugin only the overlay's decisions are written.
    boolean measuring = settings.isOn("plugin", true);
    this.seriesNs = measuring ? interval(settings, "mx.interval.ms", 500, 0) : 0;
    long flush = interval(settings, "flush.interval.ms", 200, 1);
    this.tickNs = seriesNs > 0 ? Math.min(flush, seriesNs) : flush;
    this.clockNs = measuring ? interval(settings, "clock.interval.ms", 1_000, 0) : 0;
    this.codegenNs = interval(settings, "codegen.interval.ms", 0, 0);
    this.thread = new Thread(this::run, THREAD_NAME);
    thread.setDaemon(true);
    thread.setContextClassLoader(null);
  }

  private static long interval(Settings settings, String key, long fallbackMs, long leastMs) {
    return TimeUnit.MILLISECONDS.toNanos(settings.number(key, fallbackMs, leastMs));
  }

  /** Has the writer's thread look at something else; to be set before it is started. */
  public void watch(Watched source) {
    watched = source;
  }

  /** Has the writer's thread do something once a second, which is to take next to no time. */
  public void everySecond(Runnable part) {
    looks.add(part);
  }

  /** Has it do so no more. */
  public void noMore(Runnable part) {
    looks.remove(part);
  }

  /** Starts the writer's thread. */
  public void start() {
    thread.start();
  }

  /** Takes a record; false if it was dropped (and counted). Never waits, never throws. */
  public boolean offer(Event event) {
    if (!dead && (!full || isEssential(event)) && queue.offer(event)) {
      return true;
    }
    drop(event.kind(), 1);
    return false;
  }

  /** Whether a record is taken to the last: what failed, and whose records these are. */
  private static boolean isEssential(Event event) {
    return event instanceof ErrorEvent || event instanceof ProcessFacts;
  }

  /** Adds time that a task's thread spent in our hooks, ns. */
  public void addHookTime(long nanos) {
    hookNs.add(nanos);
  }

  /** Notes a failure: the first of its place is recorded, later ones are counted. */
  public void error(String where, Throwable failure) {
    error(where, failure.toString());
  }

  /** Notes a failure: the first of its place is recorded, later ones are counted. */
  public void error(String where, String message) {
    LongAdder count = new LongAdder();
    LongAdder known = errors.putIfAbsent(where, count);
    (known == null ? count : known).increment();
    if (known == null) {
      offer(new ErrorEvent(where, message, 1));
    }
  }

  /**
   * Writes what is queued and a {@code bye}, waiting at most two seconds (longer where the
   * processor is emulated), and pauses: no more series until {@link #resume}.
   */
  public void finish() {
    // A shutdown hook and Spark's stop may run at the same time: both wait here.
    CountDownLatch done =
        finishing.updateAndGet(pending -> pending == null ? new CountDownLatch(1) : pending);
    LockSupport.unpark(thread);
    try {
      if (!dead && !done.await(FINISH_TIMEOUT_MS, TimeUnit.MILLISECONDS)) {
        error("farewell", "the file did not take the last records in " + FINISH_TIMEOUT_MS + " ms");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Goes on after a {@link #finish}, for the next application in the same JVM. */
  public void resume() {
    paused = false;
    LockSupport.unpark(thread);
  }

  /**
   * Takes nothing any more but errors and what names the process, for good: what else comes is
   * dropped and counted.
   */
  public void takeNoMore() {
    full = true;
  }

  /** Whether it has been told to {@linkplain #takeNoMore take no more}. */
  public boolean isFull() {
    return full;
  }

  /** Records dropped so far. */
  public long droppedCount() {
    long sum = 0;
    for (LongAdder count : dropped.values()) {
      sum += count.sum();
    }
    return sum;
  }

  /** The writer's thread, for tests. */
  Thread thread() {
    return thread;
  }

  private void drop(String kind, long count) {
    LongAdder known = dropped.get(kind);
    // The map may lock whoever asks for more than that.
    (known == null ? dropped.computeIfAbsent(kind, k -> new LongAdder()) : known).add(count);
  }

  private void run() {
    long now = System.nanoTime();
    long nextSeries = now;
    long nextClock = now;
    long nextDrops = now;
    long nextCodegen = now;
    try {
      while (true) {
        // Before the queue is drained: records offered before the finish are written before it.
        CountDownLatch leaving = finishing.getAndSet(null);
        try {
          drain();
          now = System.nanoTime();
          if (!paused && !full) {
            if (seriesNs > 0 && now >= nextSeries) {
              nextSeries = Math.max(nextSeries + seriesNs, now + tickNs / 2);
              attempt("series", this::series);
            }
            if (clockNs > 0 && now >= nextClock) {
              nextClock = Math.max(nextClock + clockNs, now);
              attempt("clock", this::clock);
            }
            if (watched != null && now >= nextCodegen) {
              nextCodegen = Math.max(nextCodegen + codegenNs, now + tickNs / 2);
              attempt("codegen", watched::poll);
            }
          }
          if (now >= nextDrops) {
            nextDrops = now + (full ? RARELY_NS : RETRY_NS);
            drops();
            if (!paused) {
              looks.forEach(look -> attempt("look", look));
            }
          }
          if (leaving != null) {
            if (watched != null) {
              // First what is ready: the JVM may not wait for the rest.
              flush();
              watched.finish();
            }
            bye();
            paused = true;
          }
          flush();
          if (leaving != null) {
            leaving.countDown();
          }
        } catch (Exception | VirtualMachineError e) {
          failed(e);
          // It is tried again, unless another is waiting now.
          if (leaving != null && !finishing.compareAndSet(null, leaving)) {
            leaving.countDown();
          }
        }
        pause();
      }
    } finally {
      dead = true;
      queue.clear();
    }
  }

  /** One that fails takes neither the others nor what is queued with it. */
  private void attempt(String where, Runnable part) {
    int length = text.length();
    try {
      part.run();
    } catch (Exception | StackOverflowError | LinkageError e) {
      text.setLength(length);
      error(where, e);
    }
  }

  /** The writer outlives a heap that is full: others may free it. */
  private void failed(Throwable failure) {
    try {
      lose();
      error("writer", failure);
    } catch (VirtualMachineError again) {
      text.setLength(0);
    }
  }

  /** Waits for the next tick. A wake-up costs about as much as what is done in it. */
  private void pause() {
    // Late records of an application that has ended are looked for once a second.
    if (finishing.get() == null) {
      LockSupport.parkNanos(this, paused && queue.isEmpty() ? RETRY_NS : tickNs);
    }
  }

  private void drain() {
    int remaining = queue.size();
    while (remaining > 0) {
      batch.clear();
      int got = queue.drainTo(batch, Math.min(remaining, BATCH));
      if (got == 0) {
        return;
      }
      remaining -= got;
      int done = 0;
      try {
        for (Event event : batch) {
          event.format(text);
          written++;
          done++;
        }
      } finally {
        for (Event lost : batch.subList(done, got)) {
          drop(lost.kind(), 1);
        }
      }
      if (text.length() >= 1 << 16) {
        flush();
      }
    }
  }

  private void series() {
    if (series == null) {
      series = new MxSeries();
    }
    series.format(json, ownCpuNs());
    written++;
  }

  private void clock() {
    long[] pair = Clocks.pair();
    json.open("clock").put("mono_ns", pair[0]).put("wall_ns", pair[1]).close();
    written++;
  }

  private void drops() {
    long sum = droppedCount();
    if (sum == reportedDrops) {
      return;
    }
    reportedDrops = sum;
    for (Map.Entry<String, LongAdder> entry : dropped.entrySet()) {
      json.open("drop").put("kind", entry.getKey()).put("count", entry.getValue().sum()).close();
      written++;
    }
  }

  private void bye() {
    if (paused && written == finishWritten) {
      return;
    }
    for (Map.Entry<String, LongAdder> entry : errors.entrySet()) {
      long count = entry.getValue().sum();
      if (count > 1) {
        new ErrorEvent(entry.getKey(), "seen again", count).format(text);
      }
    }
    drops();
    json.open("bye")
        .put("mono_ns", System.nanoTime())
        .put("written", written)
        .put("dropped", droppedCount())
        .put("own_cpu_ns", ownCpuNs())
        .close();
    finishWritten = written;
  }

  /** CPU of our thread and time in our hooks on the tasks' threads, ns. */
  private long ownCpuNs() {
    if (threads == null) {
      threads = ManagementFactory.getThreadMXBean();
    }
    long own = threads.isCurrentThreadCpuTimeSupported() ? threads.getCurrentThreadCpuTime() : 0;
    return Math.max(0, own) + hookNs.sum();
  }

  private void flush() {
    if (text.length() == 0) {
      return;
    }
    if (file.write(text)) {
      text.setLength(0);
    } else {
      lose();
    }
  }

  private void lose() {
    long lines = 0;
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) == '\n') {
        lines++;
      }
    }
    text.setLength(0);
    written -= lines;
    drop("write", lines);
  }
}
