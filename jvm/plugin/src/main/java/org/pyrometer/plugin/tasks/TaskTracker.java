package org.pyrometer.plugin.tasks;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import one.profiler.Span;
import org.apache.spark.TaskContext;
import org.pyrometer.plugin.host.Host;
import org.pyrometer.plugin.profiler.Profiler;
import org.pyrometer.plugin.records.Event;
import org.pyrometer.plugin.records.Json;
import org.pyrometer.plugin.records.Recorder;

/**
 * Start and end of every task, seen from the task's own thread.
 *
 * <p>This is the hot path: two clock readings, four of the thread's CPU time and two of its
 * allocation for a task, two small objects, no formatting.
 */
public final class TaskTracker {
  private final Recorder recorder;
  private final Profiler profiler;
  private final Contexts contexts;
  private final ThreadMXBean threads;
  private final boolean cpu;
  private final boolean allocation;
  private final ThreadLocal<Slot> slots = ThreadLocal.withInitial(this::slot);

  /**
   * A tracker for this JVM.
   *
   * @param recorder where records go
   * @param profiler the profiler that task threads are registered with
   * @param contexts where the OS probe reads what a thread works for
   */
  public TaskTracker(Recorder recorder, Profiler profiler, Contexts contexts) {
    this.recorder = recorder;
    this.profiler = profiler;
    this.contexts = contexts;
    java.lang.management.ThreadMXBean bean = ManagementFactory.getThreadMXBean();
    this.threads = bean instanceof ThreadMXBean ? (ThreadMXBean) bean : null;
    this.cpu = threads != null && threads.isCurrentThreadCpuTimeSupported();
    this.allocation = threads != null && threads.isThreadAllocatedMemorySupported();
  }

  /** A task begins on the calling thread. */
  public void started() {
    long cpuBefore = cpuNs();
    long cpuAfter = cpuBefore;
    try {
      TaskContext context = TaskContext.get();
      if (context == null) {
        recorder.error("task_start", "there is no TaskContext");
        return;
      }
      Slot slot = slots.get();
      TaskStart task = new TaskStart(slot.osThread, context);
      task.begin(slot.context);
      recorder.offer(task);
      slot.task = task;
      slot.span = Span.start();
      slot.allocated = allocation ? threads.getThreadAllocatedBytes(slot.javaThread) : -1;
      // Last, so that the task's figure excludes our work.
      cpuAfter = cpuNs();
      slot.cpuNs = cpuAfter;
    } catch (Throwable e) {
      recorder.error("task_start", e);
    }
    recorder.addHookTime(cpuAfter - cpuBefore);
  }

  /** The task on the calling thread has ended. */
  public void ended(boolean success) {
    long cpuBefore = cpuNs();
    try {
      Slot slot = slots.get();
      TaskStart task = slot.task;
      if (task == null) {
        return;
      }
      long now = System.nanoTime();
      slot.context.idle();
      slot.task = null;
      long cpu = cpuBefore < 0 ? -1 : cpuBefore - slot.cpuNs;
      long bytes =
          slot.allocated < 0
              ? -1
              : threads.getThreadAllocatedBytes(slot.javaThread) - slot.allocated;
      recorder.offer(new TaskEnd(task, now, success, cpu, bytes));
      if (slot.span != 0) {
        Span.endIfProfiled(slot.span, task.tag());
      }
    } catch (Throwable e) {
      recorder.error("task_end", e);
    }
    recorder.addHookTime(cpuNs() - cpuBefore);
  }

  /** CPU time of the calling thread, ns, or -1. */
  private long cpuNs() {
    return cpu ? threads.getCurrentThreadCpuTime() : -1;
  }

  @SuppressWarnings("deprecation") // threadId() came with Java 19
  private Slot slot() {
    profiler.watchThread();
    return new Slot(Host.threadId(), Thread.currentThread().getId(), contexts.current());
  }

  /** What is known of a thread, and of the task that it runs. */
  private static final class Slot {
    final long osThread;
    final long javaThread;
    final ContextSlot context;
    TaskStart task;
    long cpuNs;
    long allocated;
    long span;

    Slot(long osThread, long javaThread, ContextSlot context) {
      this.osThread = osThread;
      this.javaThread = javaThread;
      this.context = context;
    }
  }

  /** Record {@code task_start}. */
  private static final class TaskStart implements Event {
    private final long osThread;
    private long startNs;
    private final long task;
    private final int stage;
    private final int stageAttempt;
    private final int partition;
    private final int attempt;
    private final String sql;
    private final String iteration;

    TaskStart(long osThread, TaskContext context) {
      this.osThread = osThread;
      this.task = context.taskAttemptId();
      this.stage = context.stageId();
      this.stageAttempt = context.stageAttemptNumber();
      this.partition = context.partitionId();
      this.attempt = context.attemptNumber();
      this.sql = context.getLocalProperty(LocalProperties.SQL);
      this.iteration = context.getLocalProperty(LocalProperties.ITERATION);
    }

    /** The task begins here and now: nothing that takes time lies between clock and slot. */
    void begin(ContextSlot slot) {
      long sqlId = ContextSlot.number(sql);
      long iterationNumber = ContextSlot.number(iteration);
      startNs = System.nanoTime();
      slot.task(startNs, stage, stageAttempt, partition, task, attempt, sqlId, iterationNumber);
    }

    String tag() {
      return "stage " + stage + "." + stageAttempt + " task " + task;
    }

    @Override
    public String kind() {
      return "task_start";
    }

    @Override
    public void format(StringBuilder out) {
      fields(new Json(out).open(kind())).close();
    }

    Json fields(Json json) {
      return json.putKnown("tid", osThread)
          .put("start_ns", startNs)
          .put("stage", stage)
          .put("stage_attempt", stageAttempt)
          .put("task", task)
          .put("partition", partition)
          .put("attempt", attempt)
          .putInteger("sql", sql)
          .putInteger("iteration", iteration);
    }
  }

  /** Record {@code task}. */
  private static final class TaskEnd implements Event {
    private final TaskStart start;
    private final long endNs;
    private final boolean success;
    private final long cpuNs;
    private final long allocatedBytes;

    TaskEnd(TaskStart start, long endNs, boolean success, long cpuNs, long allocatedBytes) {
      this.start = start;
      this.endNs = endNs;
      this.success = success;
      this.cpuNs = cpuNs;
      this.allocatedBytes = allocatedBytes;
    }

    @Override
    public String kind() {
      return "task";
    }

    @Override
    public void format(StringBuilder out) {
      start
          .fields(new Json(out).open(kind()))
          .put("end_ns", endNs)
          .put("ok", success)
          .putKnown("cpu_ns", cpuNs)
          .putKnown("alloc_bytes", allocatedBytes)
          .close();
    }
  }
}
