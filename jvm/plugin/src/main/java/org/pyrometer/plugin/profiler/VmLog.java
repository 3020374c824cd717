package org.pyrometer.plugin.profiler;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import javax.management.JMException;
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

  /**
   * Ends the logs that {@link #startAll} started; those that the user asked for go on.
   *
   * @param folder the same
   * @param whose the same
   * @param recorder the same
   */
  public static void stopAll(Path folder, String whose, Recorder recorder) {
    try {
      for (String name : List.of("gc", "jit")) {
        String output = "/" + file(name, folder, whose).getFileName();
        for (String line : command("list").split("\n")) {
          if (line.contains(output)) {
            // By its number: a name is another to the log once it holds what is quoted.
            command("output=" + line.substring(0, line.indexOf(':')).trim(), "what=all=off");
          }
        }
      }
    } catch (Throwable e) {
      recorder.error("log_end", e);
    }
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
      Path file = file(name, folder, whose);
      // The name is quoted for the log, the whole once more for the command's own parser.
      String answer =
          command(
              "output='file=\"" + PlainPath.of(file) + "\"'",
              "output_options=filecount=0",
              "what=" + what,
              "decorators=" + decorators);
      if (!answer.isBlank()) {
        recorder.error(name + "_log", answer.trim());
      } else if (name.equals("gc")) {
        FirstLines.append(file, decorators);
      }
    } catch (Throwable e) {
      recorder.error(name + "_log", e);
    }
  }

  private static Path file(String name, Path folder, String whose) {
    return folder.resolve(name + "-" + whose + "-" + ProcessHandle.current().pid() + ".log");
  }

  private static String command(String... arguments) throws JMException {
    Object answer =
        ManagementFactory.getPlatformMBeanServer()
            .invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"),
                "vmLog",
                new Object[] {arguments},
                new String[] {String[].class.getName()});
    return answer == null ? "" : answer.toString();
  }

  /** What a Java of this version is asked to log; empty for nothing. */
  static String what(String name, Settings settings, int javaVersion) {
    String what = settings.get(name + "log.what", "");
    boolean traps = name.equals("jit") && !what.isEmpty() && javaVersion >= LOGS_TRAPS;
    return traps ? what + ",deoptimization=debug" : what;
  }
}
