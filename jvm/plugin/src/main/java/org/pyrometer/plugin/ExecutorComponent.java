package org.pyrometer.plugin;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.hooks.OverlayHook;
import org.pyrometer.plugin.host.Host;
import org.pyrometer.plugin.jvm.Bounded;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.profiler.Profiler;
import org.pyrometer.plugin.records.ProcessFacts;
import org.pyrometer.plugin.records.Secrets;
import org.pyrometer.plugin.ship.AgentBeside;
import org.pyrometer.plugin.ship.Destination;
import org.pyrometer.plugin.ship.Kept;
import org.pyrometer.plugin.ship.PrivateFolder;
import org.pyrometer.plugin.tasks.TaskTracker;

/** The executors' half of the plugin; in local mode it lives in the driver's JVM. */
final class ExecutorComponent implements ExecutorPlugin {
  private static final String DRIVER = "driver";

  private Jvm jvm;
  private boolean local;
  private TaskTracker tracker;
  private RoundTrips trips;
  private AgentBeside agent;

  @Override
  public void init(PluginContext context, Map<String, String> extraConf) {
    try {
      local = DRIVER.equals(context.executorID());
      if (local) {
        jvm = Jvm.current();
      } else {
        Map<String, String> given = Settings.unpacked(extraConf);
        if (given.containsKey("raw.dir")) {
          jvm = startExecutor(context, given);
          trips = startTrips(context, jvm);
        }
      }
      if (jvm != null && jvm.settings().isOn("tasks", true)) {
        tracker = jvm.tracker();
      }
    } catch (Throwable e) {
      note("executor_init", e);
      report(context, e.toString());
    }
  }

  @Override
  public void onTaskStart() {
    try {
      if (tracker != null) {
        tracker.started();
      }
    } catch (Throwable e) {
      note("task_start", e);
    }
  }

  @Override
  public void onTaskSucceeded() {
    ended(true);
  }

  @Override
  public void onTaskFailed(TaskFailedReason failureReason) {
    ended(false);
  }

  private void ended(boolean success) {
    try {
      if (tracker != null) {
        tracker.ended(success);
      }
    } catch (Throwable e) {
      note("task_end", e);
    }
  }

  @Override
  public void shutdown() {
    try {
      if (trips != null) {
        trips.end();
      }
      if (jvm != null && !local) {
        // The executor may be killed immediately: nothing may wait for the JVM to end.
        Profiler profiler = jvm.profiler();
        Bounded.run("pyrometer-stop", profiler::stop, failure -> note("profiler_stop", failure));
        if (agent != null) {
          agent.end();
        }
        jvm.recorder().finish();
        if (agent != null) {
          agent.finish();
        }
      }
    } catch (Throwable e) {
      note("executor_shutdown", e);
    }
  }

  private Jvm startExecutor(PluginContext context, Map<String, String> given) throws IOException {
    SparkConf conf = context.conf();
    Secrets.learn(conf.get(Secrets.NAMES_KEY, null), conf.get(Secrets.TEXTS_KEY, null));
    Settings settings = Settings.of(given);
    String id = context.executorID();
    String appId = conf.get("spark.app.id", "unknown");
    Path wanted = settings.rawDir();
    boolean ships = !settings.get(Destination.KEY, "").isEmpty();
    Jvm started =
        Jvm.inTime(
            () -> {
              Path there =
                  !ships && Jvm.isWritable(wanted)
                      ? wanted
                      : PrivateFolder.create(appId, id, conf.get("spark.local.dir", null));
              Jvm.start(settings, "executor", id, there);
            });
    Path folder = started.folder();
    Map<String, String> application = new HashMap<>(given);
    application.put("app_id", appId);
    started.codegen().running();
    started.recorder().offer(new ProcessFacts("executor", id, application));
    if (ships) {
      agent = new AgentBeside(started, conf, appId, id, why -> stay(context, started, why));
      agent.start();
    } else if (!folder.equals(wanted)) {
      Kept kept = new Kept(started);
      started.recorder().everySecond(() -> kept.look(false));
      stay(context, started, "cannot write to " + wanted);
    }
    return started;
  }

  /** Says here and to the driver that the records stay on this host. */
  private static void stay(PluginContext context, Jvm jvm, String why) {
    String message =
        "executor "
            + context.executorID()
            + " on "
            + Host.name()
            + " "
            + why
            + "; its records are in "
            + jvm.folder()
            + ": copy them into the raw folder and ingest again";
    jvm.recorder().error("executor_raw_dir", message);
    try {
      context.send(message);
    } catch (IOException | RuntimeException e) {
      jvm.recorder().error("executor_send", e);
    }
  }

  private static RoundTrips startTrips(PluginContext context, Jvm jvm) {
    long intervalMs = jvm.settings().number("ping.interval.ms", 10_000, 0);
    if (intervalMs == 0) {
      return null;
    }
    RoundTrips trips = new RoundTrips(context::ask, jvm.recorder(), intervalMs);
    trips.start();
    return trips;
  }

  /** Reports a failure through the driver, as there is no file here to write it to. */
  private void report(PluginContext context, String message) {
    try {
      if (jvm == null && context != null) {
        context.send("executor " + context.executorID() + " on " + Host.name() + ": " + message);
      }
    } catch (Throwable e) {
      // There is nowhere to report it, and the application must not notice.
      jvm = null;
    }
  }

  private void note(String where, Throwable failure) {
    if (jvm != null) {
      OverlayHook.failed(where, failure);
    }
  }
}
