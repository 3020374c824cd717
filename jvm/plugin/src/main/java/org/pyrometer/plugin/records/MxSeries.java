package org.pyrometer.plugin.records;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.management.OperatingSystemMXBean;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Readings of the JVM's MXBeans, under the names of table {@code jvm_series}. */
public final class MxSeries {
  private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
  private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
  private final OperatingSystemMXBean system = ManagementFactory.getOperatingSystemMXBean();
  private final List<GarbageCollectorMXBean> collectors =
      ManagementFactory.getGarbageCollectorMXBeans();
  private final List<MemoryPoolMXBean> pools = ManagementFactory.getMemoryPoolMXBeans();
  private final List<BufferPoolMXBean> buffers =
      ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class);

  // Names with an argument, built once.
  private final String[] gcCounts = new String[collectors.size()];
  private final String[] gcTimes = new String[collectors.size()];
  private final String[] poolNames = new String[pools.size()];
  // Of the parts of the code cache only: null for other pools.
  private final String[] poolLimits = new String[pools.size()];

  public MxSeries() {
    for (int i = 0; i < collectors.size(); i++) {
      gcCounts[i] = "gc_count/" + collectors.get(i).getName();
      gcTimes[i] = "gc_time_ns/" + collectors.get(i).getName();
    }
    for (int i = 0; i < pools.size(); i++) {
      String pool = pools.get(i).getName();
      poolNames[i] = "pool_used_bytes/" + pool;
      poolLimits[i] = pool.startsWith("Code") ? "pool_max_bytes/" + pool : null;
    }
  }

  /**
   * Writes one {@code mx} record.
   *
   * @param json where to
   * @param ownCpuNs CPU that the plugin itself has used, ns
   */
  public void format(Json json, long ownCpuNs) {
    json.open("mx").put("mono_ns", System.nanoTime()).openValues();
    MemoryUsage heap = memory.getHeapMemoryUsage();
    json.value("heap_used_bytes", heap.getUsed());
    json.value("heap_committed_bytes", heap.getCommitted());
    json.value("heap_max_bytes", heap.getMax());
    json.value("nonheap_used_bytes", memory.getNonHeapMemoryUsage().getUsed());
    long direct = 0;
    for (BufferPoolMXBean pool : buffers) {
      if (pool.getName().equals("direct")) {
        direct += pool.getMemoryUsed();
      }
    }
    json.value("direct_used_bytes", direct);
    if (system instanceof com.sun.management.OperatingSystemMXBean) {
      json.value(
          "process_cpu_ns",
          ((com.sun.management.OperatingSystemMXBean) system).getProcessCpuTime());
    }
    if (compiler != null && compiler.isCompilationTimeMonitoringSupported()) {
      json.value("jit_time_ns", millis(compiler.getTotalCompilationTime()));
    }
    json.value("threads_count", threads.getThreadCount());
    json.value("loaded_classes_count", classes.getLoadedClassCount());
    for (int i = 0; i < gcCounts.length; i++) {
      json.value(gcCounts[i], collectors.get(i).getCollectionCount());
      json.value(gcTimes[i], millis(collectors.get(i).getCollectionTime()));
    }
    for (int i = 0; i < poolNames.length; i++) {
      MemoryUsage usage = pools.get(i).getUsage();
      if (usage != null) {
        json.value(poolNames[i], usage.getUsed());
        if (poolLimits[i] != null) {
          json.value(poolLimits[i], usage.getMax());
        }
      }
    }
    json.value("pyrometer_cpu_ns", ownCpuNs);
    json.closeValues().close();
  }

  private static long millis(long value) {
    return value < 0 ? -1 : TimeUnit.MILLISECONDS.toNanos(value);
  }
}
