package org.pyrometer.plugin;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import javax.management.ObjectName;

/**
 * Unified logging, switched on from inside.
 *
 * <p>A {@code -Xlog} argument that names a folder which is not there keeps a JVM from starting; an
 * executor on another host must not depend on our folders.
 */
final class GcLog {
  private GcLog() {}

  /**
   * Starts {@code gc-<pid>.log} if the settings ask for it and the JVM does not write one already.
   *
   * @param settings {@code gclog.what}, {@code gclog.decorators}
   * @param folder where the log goes
   * @param recorder where a failure is noted
   */
  static void start(Settings settings, Path folder, Recorder recorder) {
    String what = settings.get("gclog.what", "");
    if (what.isEmpty()) {
      return;
    }
    try {
      for (String argument : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
        if (argument.startsWith("-Xlog:") && argument.contains(folder + "/gc-")) {
          return;
        }
      }
      String decorators = settings.get("gclog.decorators", "timenanos,uptimenanos,tid,level,tags");
      Path file = folder.resolve("gc-" + ProcessHandle.current().pid() + ".log");
      // The name is quoted for the log, the whole once more for the command's own parser.
      String[] arguments = {
        "output='file=\"" + file + "\"'",
        "output_options=filecount=0",
        "what=" + what,
        "decorators=" + decorators
      };
      Object answer =
          ManagementFactory.getPlatformMBeanServer()
              .invoke(
                  new ObjectName("com.sun.management:type=DiagnosticCommand"),
                  "vmLog",
                  new Object[] {arguments},
                  new String[] {String[].class.getName()});
      if (answer != null && !answer.toString().isBlank()) {
        recorder.error("gc_log", answer.toString().trim());
      }
    } catch (Throwable e) {
      recorder.error("gc_log", e);
    }
  }
}
