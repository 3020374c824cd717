package org.pyrometer.plugin.tasks;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.profiler.Profiler;
import org.pyrometer.plugin.records.Recorder;

/**
 * What a task pays on its own thread: one start and one end. The aim is less than 5 us.
 *
 * <p>A burst of tasks smaller than the queue, so that none is dropped; the writer is at work.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 30)
@Measurement(iterations = 50)
@Fork(value = 2, jvmArgsAppend = "-Xmx512m")
public class TaskHookBenchmark {
  private static final int TASKS = 20_000;

  private final AtomicLong written = new AtomicLong();
  private Recorder recorder;
  private TaskTracker tracker;

  /** Starts the writer. */
  @Setup
  public void start() {
    Settings settings = Settings.of(Map.of());
    recorder = new Recorder(bytes -> written.addAndGet(bytes.length), settings);
    recorder.start();
    tracker =
        new TaskTracker(
            recorder, new Profiler(settings, recorder), new Contexts(settings, null, recorder));
    FakeTasks.enter(3, 1, 17, Map.of("pyrometer.iteration", "2", "spark.sql.execution.id", "5"));
  }

  /** Waits until the queue is empty. */
  @Setup(Level.Iteration)
  public void settle() throws InterruptedException {
    Thread.sleep(250);
  }

  /** Fails the benchmark if what it measured was dropping. */
  @TearDown
  public void check() {
    if (recorder.droppedCount() > 0) {
      throw new IllegalStateException("records were dropped: this is not the cost of a task");
    }
  }

  /** One task. */
  @Benchmark
  @OperationsPerInvocation(TASKS)
  public void startAndEnd() {
    for (int i = 0; i < TASKS; i++) {
      tracker.started();
      tracker.ended(true);
    }
  }
}
