package org.pyrometer.plugin.tasks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Recorder;

/** What one write of the context slot costs. The aim is less than 100 ns. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
@Fork(value = 2, jvmArgsAppend = "-Xmx256m")
public class ContextSlotBenchmark {
  private Path folder;
  private Contexts contexts;
  private ContextSlot slot;
  private long task;

  /** Makes the file. */
  @Setup
  public void start() throws IOException {
    folder = Files.createTempDirectory("pyrometer-benchmark-");
    Recorder recorder = new Recorder(bytes -> {}, Settings.of(Map.of()));
    contexts = new Contexts(Settings.of(Map.of("context", "on")), folder, recorder);
    if (contexts.isOff()) {
      throw new IllegalStateException("no file could be created: there is nothing to measure");
    }
  }

  /** Removes it. */
  @TearDown
  public void end() throws IOException {
    contexts.remove();
    Files.delete(folder);
  }

  /** The write at the start of a task, its numbers read from local properties. */
  @Benchmark
  public void task() {
    if (slot == null) {
      // Of the thread that measures.
      slot = contexts.current();
    }
    slot.task(task, 3, 0, 17, ++task, 0, ContextSlot.number("1234"), ContextSlot.number("12"));
  }

  /** The write at its end. */
  @Benchmark
  public void idle() {
    if (slot == null) {
      slot = contexts.current();
    }
    slot.idle();
  }
}
