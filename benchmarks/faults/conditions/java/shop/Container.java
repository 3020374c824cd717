package shop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A control group of memory, version 1, around the JVM that a task runs in.
 *
 * <p>What the JVM has used before it enters is counted by the group above: the limit is less by as
 * much.
 */
final class Container {
  private static final long PAGE = 4096;
  private static final long LEAST = 16 << 20;
  private static boolean entered;

  private Container() {}

  /** Enters the container, once in each JVM: "FOLDER BYTES", the group above and the limit. */
  static synchronized void enter(String described) {
    if (entered) {
      return;
    }
    int space = described.lastIndexOf(' ');
    long limit = Long.parseLong(described.substring(space + 1));
    String pid = Long.toString(ProcessHandle.current().pid());
    Path group = Path.of(described.substring(0, space), "executor-" + pid);
    try {
      String[] pages = Files.readString(Path.of("/proc/self/statm")).split(" ");
      String left = Long.toString(Math.max(LEAST, limit - PAGE * Long.parseLong(pages[1])));
      Files.createDirectory(group);
      Files.writeString(group.resolve("memory.limit_in_bytes"), left);
      Path withSwap = group.resolve("memory.memsw.limit_in_bytes");
      if (Files.exists(withSwap)) {
        Files.writeString(withSwap, left);
      }
      Files.writeString(group.resolve("cgroup.procs"), pid);
    } catch (IOException refused) {
      throw new UncheckedIOException(refused);
    }
    entered = true;
  }
}
