package org.pyrometer.plugin.profiler;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.pyrometer.plugin.host.Host;

/**
 * What a JVM says once, as it starts, in its log of collections: its collector, and the size of
 * G1's regions, in which the log counts later. A log that is switched on later lacks it.
 */
final class FirstLines {
  /** Name of a collector in the log, by the flag that chooses it. */
  private static final Map<String, String> COLLECTORS =
      Map.of(
          "UseG1GC", "G1",
          "UseParallelGC", "Parallel",
          "UseSerialGC", "Serial",
          "UseZGC", "The Z Garbage Collector",
          "UseShenandoahGC", "Shenandoah",
          "UseConcMarkSweepGC", "Concurrent Mark Sweep");

  private static final long MIB = 1 << 20;

  private FirstLines() {}

  /**
   * Appends the lines to a log, as the JVM would have written them.
   *
   * @param log the file
   * @param decorators prefix of each line
   * @throws IOException if they cannot be written
   */
  static void append(Path log, String decorators) throws IOException {
    StringBuilder text = new StringBuilder();
    for (String line : lines(ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class))) {
      text.append(decorated(decorators)).append(' ').append(line).append('\n');
    }
    Files.write(log, text.toString().getBytes(StandardCharsets.UTF_8), StandardOpenOption.APPEND);
  }

  private static List<String> lines(HotSpotDiagnosticMXBean flags) {
    List<String> lines = new ArrayList<>();
    COLLECTORS.forEach(
        (flag, name) -> {
          if ("true".equals(value(flags, flag))) {
            lines.add("Using " + name);
          }
        });
    if (lines.contains("Using G1")) {
      long bytes = Long.parseLong(value(flags, "G1HeapRegionSize"));
      lines.add("Heap Region Size: " + bytes / MIB + "M");
    }
    return lines;
  }

  /** Value of a flag; empty in a JVM that was built without it. */
  private static String value(HotSpotDiagnosticMXBean flags, String name) {
    try {
      return flags.getVMOption(name).getValue();
    } catch (IllegalArgumentException e) {
      return "";
    }
  }

  /** Decorations of a line that is written now; unknown ones are left out. */
  private static String decorated(String decorators) {
    StringBuilder text = new StringBuilder();
    for (String decorator : decorators.split(",")) {
      switch (decorator) {
        case "timenanos":
        case "tn":
          text.append('[').append(System.nanoTime()).append("ns]");
          break;
        case "uptimenanos":
        case "un":
          long uptimeMs = ManagementFactory.getRuntimeMXBean().getUptime();
          text.append('[').append(uptimeMs * 1_000_000).append("ns]");
          break;
        case "tid":
        case "ti":
          text.append('[').append(Host.threadId()).append(']');
          break;
        case "level":
        case "l":
          text.append("[info]");
          break;
        case "tags":
        case "tg":
          text.append("[gc,init]");
          break;
        default:
          break;
      }
    }
    return text.toString();
  }
}
