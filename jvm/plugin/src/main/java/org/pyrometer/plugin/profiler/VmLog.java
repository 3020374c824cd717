package org.pyrometer.plugin.profiler;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import javax.management.ObjectName;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Recorder;

/**
 * Unified logging, switched on from inside.
 *
 * <p>A {@code -Xlog} argument with a file that cannot be opened, or a tag that this Java does not
 * have, keeps a JVM from starting; an application must not depend on our folders and options.
 */
public final class VmLog {
  /** First Java that can log why code was given up; the tag is refused by those before. */
  private static final int LOGS_TRAPS = 18;

  private VmLog() {}

  /**
   * Starts the logs that the settings ask for: {@code gc-<whose>-<pid>.log}, {@code
   * jit-<whose>-<pid>.log}.
   *
   * @param settings {@code gclog.what}, {@code jitlog.what}, {@code …log.decorators}
   * @param folder where the logs go
   * @param whose the part and the executor, as in names of recordings
   * @param recorder where a failure is noted
   */
  public static void startAll(Settings settings, Path folder, String whose, Recorder recorder) {
    start("gc", settings, folder, whose, recorder);
    start("jit", settings, folder, whose, recorder);
  }

  private static void start(
      String name, Settings settings, Path folder, String whose, Recorder recorder) {
    String what = what(name, settings, Runtime.version().feature());
    if (what.isEmpty()) {
      return;
    }
    try {
      String decorators =
          settings.get(name + "log.decorators", "timenanos,uptimenanos,tid,level,tags");
      long pid = ProcessHandle.current().pid();
      Path file = folder.resolve(name + "-" + whose + "-" + pid + ".log");
      // The name is quoted for the log, the whole once more for the command's own parser.
      String[] arguments = {
        "output='file=\"" + PlainPath.of(file) + "\"'",
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
        recorder.error(name + "_log", answer.toString().trim());
      } else if (name.equals("gc")) {
        FirstLines.append(file, decorators);
      }
    } catch (Throwable e) {
      recorder.error(name + "_log", e);
    }
  }

  /** What a Java of this version is asked to log; empty for nothing. */
  static String what(String name, Settings settings, int javaVersion) {
    String what = settings.get(name + "log.what", "");
    boolean traps = name.equals("jit") && !what.isEmpty() && javaVersion >= LOGS_TRAPS;
    return traps ? what + ",deoptimization=debug" : what;
  }
}
