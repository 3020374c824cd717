package org.pyrometer.plugin.tasks;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * One thread's slot: written by that thread alone, read at any moment by another process.
 *
 * <p>The sequence is odd while the other fields change. A write is a dozen stores, no allocation.
 */
public final class ContextSlot {
  /** Keeps nothing. */
  public static final ContextSlot NONE = new ContextSlot(null, null, 0);

  /** A number that is not known. */
  public static final long UNKNOWN = -1;

  private static final VarHandle INT =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int MAGIC = 0x54584350;
  private static final int VERSION = 1;
  private static final int IDLE = 0;
  private static final int TASK = 1;
  private static final int DRIVER = 2;

  private final Contexts contexts;
  private final ByteBuffer memory;
  private final int base;
  private long sequence;

  /**
   * A slot of a file.
   *
   * @param contexts where a failure is reported
   * @param memory the file
   * @param base where the slot begins
   */
  public ContextSlot(Contexts contexts, ByteBuffer memory, int base) {
    this.contexts = contexts;
    this.memory = memory;
    this.base = base;
    this.sequence = memory == null ? 0 : (long) LONG.getOpaque(memory, base + 8) & ~1L;
  }

  /** Becomes that of a thread, which is idle. */
  public void open(int thread) {
    begin();
    INT.set(memory, base, MAGIC);
    INT.set(memory, base + 4, VERSION);
    INT.set(memory, base + 16, thread);
    INT.set(memory, base + 20, IDLE);
    end();
  }

  /** The thread begins a task. */
  public void task(
      long startNs,
      int stage,
      int stageAttempt,
      int partition,
      long task,
      int attempt,
      long sql,
      long iteration) {
    write(TASK, startNs, stage, stageAttempt, partition, task, attempt, sql, iteration);
  }

  /** A thread of the driver begins to work for a SQL execution. */
  public void driver(long startNs, long sql, long iteration) {
    write(DRIVER, startNs, -1, -1, -1, UNKNOWN, -1, sql, iteration);
  }

  /** The thread works for nothing any more. */
  public void idle() {
    if (memory == null || contexts.isOff()) {
      return;
    }
    try {
      begin();
      INT.set(memory, base + 20, IDLE);
      end();
    } catch (Throwable e) {
      contexts.fail(e);
    }
  }

  private void write(
      int phase,
      long startNs,
      int stage,
      int stageAttempt,
      int partition,
      long task,
      int attempt,
      long sql,
      long iteration) {
    if (memory == null || contexts.isOff()) {
      return;
    }
    try {
      begin();
      INT.set(memory, base + 20, phase);
      LONG.set(memory, base + 24, startNs);
      LONG.set(memory, base + 32, task);
      INT.set(memory, base + 40, stage);
      INT.set(memory, base + 44, stageAttempt);
      INT.set(memory, base + 48, partition);
      INT.set(memory, base + 52, attempt);
      LONG.set(memory, base + 56, sql);
      LONG.set(memory, base + 64, iteration);
      end();
    } catch (Throwable e) {
      contexts.fail(e);
    }
  }

  private void begin() {
    LONG.setOpaque(memory, base + 8, ++sequence);
    VarHandle.storeStoreFence();
  }

  private void end() {
    LONG.setRelease(memory, base + 8, ++sequence);
  }

  /**
   * A number from a local property; {@link #UNKNOWN} where there is none.
   *
   * @param text digits, or null
   */
  public static long number(String text) {
    if (text == null || text.isEmpty() || text.length() > 18) {
      return UNKNOWN;
    }
    long number = 0;
    for (int i = 0; i < text.length(); i++) {
      char digit = text.charAt(i);
      if (digit < '0' || digit > '9') {
        return UNKNOWN;
      }
      number = 10 * number + digit - '0';
    }
    return number;
  }
}
