package org.pyrometer.plugin.host;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What the system says about this host, process and thread. */
public final class Host {
  private static final String ALLOWED = "Cpus_allowed_list:";
  private static final Path THREAD_SELF = Path.of("/proc/thread-self");
  private static final Method IS_VIRTUAL = isVirtual();

  private Host() {}

  /** Name of the host as the kernel has it, without asking a name server. */
  public static String name() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/hostname")).trim();
    } catch (IOException | RuntimeException e) {
      String name = System.getenv("HOSTNAME");
      return name == null ? "unknown" : name;
    }
  }

  /**
   * The kernel's id of the calling thread, or -1 where it cannot be had: a virtual thread has none,
   * as it runs on one thread of the kernel after the other.
   */
  public static long threadId() {
    try {
      if (IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invoke(Thread.currentThread())) {
        return -1;
      }
      return Long.parseLong(Files.readSymbolicLink(THREAD_SELF).getFileName().toString());
    } catch (IOException | ReflectiveOperationException | RuntimeException e) {
      return -1;
    }
  }

  /** The method that says whether a thread is virtual; null where Java has no such threads. */
  private static Method isVirtual() {
    try {
      return Thread.class.getMethod("isVirtual");
    } catch (NoSuchMethodException e) {
      return null;
    }
  }

  /** Whether a process has ended and stays, as nobody has waited for it. */
  public static boolean isZombie(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc/" + pid + "/stat"), ISO_8859_1);
      // The name before the state may hold anything.
      return stat.startsWith(" Z", stat.lastIndexOf(')') + 1);
    } catch (IOException | RuntimeException e) {
      return false;
    }
  }

  /** The CPUs that the kernel lets this process run on, as it writes them; null if not known. */
  public static String allowedCpus() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
      return lines
          .filter(line -> line.startsWith(ALLOWED))
          .map(line -> line.substring(ALLOWED.length()).trim())
          .findFirst()
          .orElse(null);
    } catch (IOException | RuntimeException e) {
      return null;
    }
  }

  /** From which NUMA nodes memory is taken, {@code bind:0} or {@code default}; null if unknown. */
  public static String memoryPolicy() {
    // A line is a mapping, its address and its policy: that of the process where it has none.
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/numa_maps"))) {
      return lines.findFirst().map(line -> line.split(" ")[1]).orElse(null);
    } catch (IOException | RuntimeException e) {
      return null;
    }
  }
}
