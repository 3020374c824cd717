package org.pyrometer.plugin.hooks;

import java.util.Properties;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.tasks.ContextSlot;
import org.pyrometer.plugin.tasks.LocalProperties;

/**
 * Called by the transformed {@code SparkContext} with every local property that a thread of the
 * driver sets: among them is the SQL execution that the thread works for from now on.
 */
public final class ContextHook {
  private static final ThreadLocal<long[]> LAST =
      ThreadLocal.withInitial(() -> new long[] {ContextSlot.UNKNOWN, ContextSlot.UNKNOWN});

  private ContextHook() {}

  /**
   * The calling thread sets one property. Never throws.
   *
   * @param key its name
   * @param value its value, or null to remove it
   */
  public static void property(String key, String value) {
    try {
      if (LocalProperties.SQL.equals(key)) {
        update(ContextSlot.number(value), LAST.get()[1]);
      } else if (LocalProperties.ITERATION.equals(key)) {
        update(LAST.get()[0], ContextSlot.number(value));
      }
    } catch (Throwable e) {
      OverlayHook.failed("context_hook", e);
    }
  }

  /**
   * The calling thread takes over all properties of another. Never throws.
   *
   * @param properties what it has from now on
   */
  public static void properties(Properties properties) {
    try {
      if (properties != null) {
        update(
            ContextSlot.number(properties.getProperty(LocalProperties.SQL)),
            ContextSlot.number(properties.getProperty(LocalProperties.ITERATION)));
      }
    } catch (Throwable e) {
      OverlayHook.failed("context_hook", e);
    }
  }

  private static void update(long sql, long iteration) {
    long[] last = LAST.get();
    boolean known = last[0] >= 0;
    last[0] = sql;
    last[1] = iteration;
    Jvm jvm = Jvm.current();
    if (jvm == null || (sql < 0 && !known)) {
      return;
    }
    if (sql < 0) {
      jvm.contexts().current().idle();
    } else {
      jvm.contexts().current().driver(System.nanoTime(), sql, iteration);
    }
  }
}
