package org.pyrometer.plugin.jvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.pyrometer.plugin.codegen.LineTables;
import org.pyrometer.plugin.codegen.SparkCodegen;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.profiler.Profiler;
import org.pyrometer.plugin.profiler.VmLog;
import org.pyrometer.plugin.records.ProcessFacts;
import org.pyrometer.plugin.records.Recorder;
import org.pyrometer.plugin.records.Sink;
import org.pyrometer.plugin.tasks.Contexts;
import org.pyrometer.plugin.tasks.TaskTracker;

/**
 * All of Pyrometer in one JVM: created by the agent, or else by the plugin; there is at most one.
 */
public final class Jvm {
  // Read without a lock: a start may hang with the file system.
  private static volatile Jvm instance;

  /** What failed before there was a file for it: messages by place. */
  private static final Map<String, String> EARLY = new ConcurrentHashMap<>();

  private final Settings settings;
  private final Recorder recorder;
  private final Profiler profiler;
  private final Contexts contexts;
  private final TaskTracker tracker;
  private final SparkCodegen codegen;
  private final Path folder;
  private final String whose;

  private Jvm(Settings settings, String role, String executorId, Path folder) throws IOException {
    long pid = ProcessHandle.current().pid();
    String name = role + "-" + safe(executorId) + "-" + pid;
    this.settings = settings;
    this.folder = folder;
    this.recorder = new Recorder(Sink.file(folder.resolve("plugin-" + name + ".ndjson")), settings);
    this.whose = role.equals("driver") ? role : role + safe(executorId);
    // Early: earlier collections are in no log.
    VmLog.startAll(settings, folder, whose, recorder);
    this.profiler = new Profiler(settings, recorder);
    this.codegen = new SparkCodegen();
    Path sources = folder.resolve("codegen").resolve("codegen-" + name + ".ndjson");
    recorder.watch(codegen.capture(settings, sources, recorder));
    recorder.start();
    // First of all, whose records these are; the plugin says later which application it is.
    recorder.offer(new ProcessFacts(role, executorId, Map.of()));
    this.contexts = new Contexts(settings, folder, recorder);
    this.tracker = new TaskTracker(recorder, profiler, contexts);
    if (settings.isOn("codegen.lines", false)) {
      withLines();
    }
    profiler.start(folder.resolve("profile-" + whose + "-" + pid + ".jfr"));
    Runtime.getRuntime().addShutdownHook(new Thread(this::farewell, "pyrometer-farewell"));
  }

  private void withLines() {
    try {
      LineTables.switchOn(ClassLoader.getSystemClassLoader());
    } catch (Exception | LinkageError e) {
      recorder.error("codegen_lines", e);
    }
  }

  /**
   * Ends all that grows with the application's time, for good. Errors are still recorded, and what
   * is dropped is counted.
   */
  public void recordNoMore() {
    recorder.takeNoMore();
    Bounded.run(
        "pyrometer-stop",
        () -> {
          profiler.stop();
          VmLog.stopAll(folder, whose, recorder);
        },
        failure -> recorder.error("stop", failure));
  }

  private void farewell() {
    Bounded.run("pyrometer-finish", recorder::finish, failure -> {});
    Bounded.run("pyrometer-contexts", contexts::remove, failure -> {});
  }

  /**
   * The instance of this JVM after work that may create it, or null; the work has as much time as
   * an application may wait.
   *
   * @param work calls {@link #start} where there is a folder to write to
   * @throws IOException if the work failed, or was not done in time
   */
  public static Jvm inTime(Bounded.Work work) throws IOException {
    Throwable[] failure = {null};
    if (!Bounded.run("pyrometer-start", work, thrown -> failure[0] = thrown)) {
      throw new IOException(String.valueOf(failure[0]), failure[0]);
    }
    return instance;
  }

  /**
   * The instance of this JVM, created now if there is none.
   *
   * @param settings the settings of the launcher
   * @param role {@code "driver"}, or {@code "executor"}
   * @param executorId Spark's id of the executor
   * @param folder where files go
   * @throws IOException if the record file cannot be created
   */
  public static synchronized Jvm start(
      Settings settings, String role, String executorId, Path folder) throws IOException {
    if (instance == null) {
      instance = new Jvm(settings, role, executorId, folder);
      tellEarly();
    }
    return instance;
  }

  /**
   * Notes a failure, of a start too: where there is no file yet it is written once there is one.
   *
   * @param where the place
   * @param failure what went wrong there
   */
  public static void failed(String where, Throwable failure) {
    Jvm jvm = instance;
    if (jvm != null) {
      jvm.recorder.error(where, failure);
      return;
    }
    EARLY.putIfAbsent(where, failure.toString());
    // The start may have ended in between.
    tellEarly();
  }

  private static void tellEarly() {
    Jvm jvm = instance;
    if (jvm == null) {
      return;
    }
    for (String where : new ArrayList<>(EARLY.keySet())) {
      String message = EARLY.remove(where);
      if (message != null) {
        jvm.recorder.error(where, message);
      }
    }
  }

  /** The one of this JVM, or null. */
  public static Jvm current() {
    return instance;
  }

  public Settings settings() {
    return settings;
  }

  public Recorder recorder() {
    return recorder;
  }

  public Profiler profiler() {
    return profiler;
  }

  public Contexts contexts() {
    return contexts;
  }

  public TaskTracker tracker() {
    return tracker;
  }

  public SparkCodegen codegen() {
    return codegen;
  }

  public Path folder() {
    return folder;
  }

  /** Whether files can be created in a folder. */
  public static boolean isWritable(Path folder) {
    return folder != null && Files.isDirectory(folder) && Files.isWritable(folder);
  }

  private static String safe(String id) {
    return id.replaceAll("[^A-Za-z0-9._]", "_");
  }
}
