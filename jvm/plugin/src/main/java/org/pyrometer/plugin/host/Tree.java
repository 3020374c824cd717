package org.pyrometer.plugin.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Whether a process and its descendants, which somebody follows, are on this host and hold us. */
public final class Tree {
  /** Setting: the launcher's probe follows the driver and its descendants. */
  public static final String KEY = "probe.tree";

  private Tree() {}

  /** Name of this process, unlike that of any other on any host; null if it cannot be had. */
  public static String name() {
    return name(ProcessHandle.current().pid());
  }

  /**
   * Whether this process is a descendant of that one.
   *
   * @param name of a process, or null
   */
  public static boolean holdsUs(String name) {
    Optional<ProcessHandle> above = Optional.of(ProcessHandle.current());
    while (name != null && above.isPresent()) {
      if (name.equals(name(above.get().pid()))) {
        return true;
      }
      above = above.get().parent();
    }
    return false;
  }

  private static String name(long pid) {
    try {
      // Numbers of processes are those of a name space, and name spaces those of a boot.
      String boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim();
      Path space = Files.readSymbolicLink(Path.of("/proc/self/ns/pid"));
      return boot + "/" + space + "/" + pid;
    } catch (IOException | RuntimeException e) {
      return null;
    }
  }
}
