package org.pyrometer.plugin;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the system says about this host and thread. */
final class Host {
  private static final Path THREAD_SELF = Path.of("/proc/thread-self");

  private Host() {}

  /** Name of the host as the kernel has it, without asking a name server. */
  static String name() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/hostname")).trim();
    } catch (IOException | RuntimeException e) {
      String name = System.getenv("HOSTNAME");
      return name == null ? "unknown" : name;
    }
  }

  /** The kernel's id of the calling thread, or -1 where it cannot be had. */
  static long threadId() {
    try {
      return Long.parseLong(Files.readSymbolicLink(THREAD_SELF).getFileName().toString());
    } catch (IOException | RuntimeException e) {
      return -1;
    }
  }
}
