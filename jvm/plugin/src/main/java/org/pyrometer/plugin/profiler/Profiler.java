package org.pyrometer.plugin.profiler;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import one.profiler.AsyncProfiler;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Event;
import org.pyrometer.plugin.records.Json;
import org.pyrometer.plugin.records.Recorder;

/**
 * async-profiler in this JVM: loaded from the jar, started once, ended with the JVM.
 *
 * <p>If the requested events are not available, fewer are tried, and the record says so.
 */
public final class Profiler {
  private final Settings settings;
  private final Recorder recorder;
  private volatile AsyncProfiler running;
  private volatile boolean watchTasks;
  private volatile boolean ended;

  public Profiler(Settings settings, Recorder recorder) {
    this.settings = settings;
    this.recorder = recorder;
  }

  /**
   * Starts profiling if the settings ask for it, and records the outcome.
   *
   * @param file where the JFR recording goes
   */
  public void start(Path file) {
    String command = settings.get("asprof.command", "");
    if (command.isEmpty()) {
      return;
    }
    if (wouldWarn(Runtime.version().feature(), arguments())) {
      String remedy =
          "loading the profiler would make this Java print a warning on the application's stderr;"
              + " add --enable-native-access=ALL-UNNAMED to its options";
      record(false, command, null, file, remedy);
      return;
    }
    if (arguments().contains("-Xcheck:jni")) {
      String remedy = "with -Xcheck:jni this Java prints warnings about the profiler; leave it out";
      record(false, command, null, file, remedy);
      return;
    }
    try {
      AsyncProfiler profiler = load(file.getParent());
      String failures = null;
      String version = profiler.getVersion();
      for (String attempt : attempts(command)) {
        String options = complete(attempt, PlainPath.of(file));
        try {
          profiler.execute(options);
          watchTasks = options.contains(",filter");
          running = profiler;
          record(true, options, version, file, failures);
          return;
        } catch (IllegalArgumentException | IllegalStateException | IOException e) {
          failures = (failures == null ? "" : failures + "; ") + attempt + ": " + e.getMessage();
        }
      }
      record(false, command, version, file, failures);
    } catch (Throwable e) {
      record(false, command, null, file, e.toString());
    }
  }

  /** Shows the calling thread, which runs tasks, to a profiler that samples task threads only. */
  public void watchThread() {
    AsyncProfiler profiler = running;
    if (profiler != null && watchTasks) {
      profiler.addThread(Thread.currentThread());
    }
  }

  /** Ends the recording and completes its file. */
  public void stop() {
    AsyncProfiler profiler = running;
    running = null;
    if (profiler != null) {
      ended = true;
      try {
        profiler.stop();
      } catch (Throwable e) {
        recorder.error("profiler_stop", e);
      }
    }
  }

  /** Whether a recording was ended: there are no stacks of what follows in this JVM. */
  public boolean hasEnded() {
    return ended;
  }

  /** The command, then with less and less of what a machine may refuse. */
  static Set<String> attempts(String command) {
    Set<String> attempts = new LinkedHashSet<>();
    attempts.add(command);
    String timer = command.replace("event=cpu", "event=ctimer").replace("cpu=", "ctimer=");
    attempts.add(timer);
    attempts.add(without(timer, option -> option.startsWith("lock")));
    attempts.add(without(timer, option -> option.startsWith("lock") || option.startsWith("alloc")));
    return attempts;
  }

  private static String without(String command, Predicate<String> unwanted) {
    List<String> kept = new ArrayList<>();
    for (String option : command.split(",")) {
      if (!unwanted.test(option)) {
        kept.add(option);
      }
    }
    return String.join(",", kept);
  }

  /** Whether native code cannot be loaded in silence; Spark 4 gives its JVMs the option. */
  static boolean wouldWarn(int javaVersion, List<String> arguments) {
    return javaVersion >= 24
        && arguments.stream().noneMatch(option -> option.startsWith("--enable-native-access"));
  }

  private static List<String> arguments() {
    return ManagementFactory.getRuntimeMXBean().getInputArguments();
  }

  private String complete(String command, Path file) {
    StringBuilder options = new StringBuilder(command);
    String padded = "," + command + ",";
    if (!padded.contains(",jfr,")) {
      options.append(",jfr");
    }
    if (!padded.contains(",loglevel=")) {
      options.append(",loglevel=none");
    }
    boolean tasksOnly = settings.get("asprof.wall.threads", "tasks").equals("tasks");
    if (tasksOnly && padded.contains(",wall") && !padded.contains(",filter")) {
      options.append(",filter");
    }
    return options.append(",file=").append(file).toString();
  }

  private AsyncProfiler load(Path folder) throws IOException {
    String library = settings.get("asprof.library", "");
    if (!library.isEmpty()) {
      return AsyncProfiler.getInstance(library);
    }
    try {
      return extracted(Files.createTempFile("libasyncProfiler-", ".so"));
    } catch (IOException | UnsatisfiedLinkError e) {
      // The folder for temporary files may be read-only or without permission to execute.
      return extracted(folder.resolve(".libasyncProfiler-" + ProcessHandle.current().pid()));
    }
  }

  private static AsyncProfiler extracted(Path copy) throws IOException {
    String arch = System.getProperty("os.arch", "");
    String platform = arch.equals("aarch64") ? "linux-arm64" : "linux-x64";
    try (InputStream library =
        Profiler.class.getResourceAsStream("/" + platform + "/libasyncProfiler.so")) {
      if (library == null) {
        throw new FileNotFoundException("there is no async-profiler for " + platform + " here");
      }
      Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
      return AsyncProfiler.getInstance(copy.toString());
    } finally {
      Files.deleteIfExists(copy);
    }
  }

  private void record(boolean started, String options, String version, Path file, String failure) {
    recorder.offer(
        new Event() {
          @Override
          public String kind() {
            return "profiler";
          }

          @Override
          public void format(StringBuilder out) {
            new Json(out)
                .open(kind())
                .put("started", started)
                .put("options", options)
                .put("version", version)
                .put("file", file.toString())
                .put("error", failure)
                .close();
          }
        });
  }
}
