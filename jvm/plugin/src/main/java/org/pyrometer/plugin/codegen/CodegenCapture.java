package org.pyrometer.plugin.codegen;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;
import org.pyrometer.plugin.records.Json;
import org.pyrometer.plugin.records.LineFile;
import org.pyrometer.plugin.records.Secrets;
import org.pyrometer.plugin.records.Watched;

/**
 * The source that Spark's code generator compiled in this JVM, each text once.
 *
 * <p>Spark's count of compilations says whether there is anything new, and, with the number of keys
 * seen, how many entries left the cache between two reads. Only the writer's thread calls.
 */
public final class CodegenCapture implements Watched {
  /** Distinct texts; the limit of bytes is reached long before. */
  private static final int MAX_TEXTS = 32_768;

  private final LineFile file;
  private final long maxBytes;
  private final LongSupplier compilations;
  private final Callable<Class<?>> generator;
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

  private final Set<Long> texts = new HashSet<>();
  private final Map<String, Long> dropped = new TreeMap<>();
  private final Set<String> errors = new HashSet<>();
  private CodegenCache cache;
  private Set<Object> present = Collections.emptySet();
  private long counted;
  private long seen;
  private long written;
  private long bytes;
  private long reportedDrops;
  private long farewellState;
  private long ownCpuNs;
  private boolean broken;

  /**
   * A capture that has not read anything yet.
   *
   * @param file where records go
   * @param maxBytes bytes of sources to write at most
   * @param compilations how many compilations there have been; 0 as long as the generator's class
   *     may not be initialised
   * @param generator the generator's class; asked for after the first compilation
   */
  public CodegenCapture(
      LineFile file, long maxBytes, LongSupplier compilations, Callable<Class<?>> generator) {
    this.file = file;
    this.maxBytes = maxBytes;
    this.compilations = compilations;
    this.generator = generator;
  }

  /** Writes what was compiled since the last look. */
  @Override
  public void poll() {
    look(false);
  }

  /** The last look of an application, and the sums so far, if there is anything new to say. */
  @Override
  public void finish() {
    look(true);
    long state = counted + written + droppedCount() + errors.size();
    if (state == farewellState) {
      return;
    }
    farewellState = state;
    StringBuilder text = new StringBuilder();
    new Json(text)
        .open("bye")
        .put("mono_ns", System.nanoTime())
        .put("written", written)
        .put("dropped", droppedCount())
        .put("own_cpu_ns", ownCpuNs)
        .close();
    file.write(text);
  }

  private void look(boolean last) {
    long before = threads.isCurrentThreadCpuTimeSupported() ? threads.getCurrentThreadCpuTime() : 0;
    try {
      long count = broken ? 0 : compilations.getAsLong();
      if (count > seen + dropped.getOrDefault("evicted", 0L)) {
        scan(last ? count : counted);
        counted = count;
      }
    } catch (Exception | LinkageError e) {
      broken = true;
      fail("codegen_look", e);
    }
    if (before > 0) {
      ownCpuNs += threads.getCurrentThreadCpuTime() - before;
    }
  }

  /**
   * Reads the keys that were not there before.
   *
   * @param due compilations that are in the cache by now, or have left it: Spark counts one a
   *     moment before its entry exists
   */
  private void scan(long due) throws Exception {
    if (cache == null) {
      cache = new CodegenCache(generator.call());
    }
    Set<Object> keys = Collections.newSetFromMap(new IdentityHashMap<>());
    for (Map.Entry<?, ?> entry : cache.entries().entrySet()) {
      keys.add(entry.getKey());
      if (!present.contains(entry.getKey())) {
        seen++;
        try {
          take(cache.read(entry.getKey(), entry.getValue()));
        } catch (ReflectiveOperationException | RuntimeException e) {
          drop("source");
          fail("codegen_entry", e);
        }
      }
    }
    present = keys;
    if (due - seen > dropped.getOrDefault("evicted", 0L)) {
      dropped.put("evicted", due - seen);
    }
    writeDrops();
  }

  private void take(GeneratedSource source) {
    long text = source.fingerprint();
    if (texts.contains(text)) {
      return;
    }
    if (texts.size() >= MAX_TEXTS) {
      drop("source");
      return;
    }
    if (bytes + source.length() > maxBytes) {
      texts.add(text);
      drop("source");
      return;
    }
    StringBuilder line = new StringBuilder((int) (source.length() + source.length() / 8 + 256));
    source.format(line, written, System.nanoTime());
    if (file.write(line)) {
      bytes += line.length();
      texts.add(text);
      written++;
    } else {
      drop("write");
    }
  }

  private void drop(String kind) {
    dropped.merge(kind, 1L, Long::sum);
  }

  private long droppedCount() {
    long sum = 0;
    for (long count : dropped.values()) {
      sum += count;
    }
    return sum;
  }

  private void writeDrops() {
    if (droppedCount() == reportedDrops) {
      return;
    }
    StringBuilder text = new StringBuilder();
    for (Map.Entry<String, Long> entry : dropped.entrySet()) {
      new Json(text)
          .open("drop")
          .put("kind", entry.getKey())
          .put("count", entry.getValue())
          .close();
    }
    if (file.write(text)) {
      reportedDrops = droppedCount();
    }
  }

  /** Notes the first failure of a place. */
  private void fail(String where, Throwable failure) {
    if (errors.add(where)) {
      StringBuilder text = new StringBuilder();
      new Json(text)
          .open("error")
          .put("where", where)
          .put("message", Secrets.text(failure.toString()))
          .close();
      file.write(text);
    }
  }
}
