package org.pyrometer.plugin;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.hooks.OverlayHook;
import org.pyrometer.plugin.host.Tree;
import org.pyrometer.plugin.jvm.Bounded;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.pods.PodWatch;
import org.pyrometer.plugin.profiler.Profiler;
import org.pyrometer.plugin.records.ProcessFacts;
import org.pyrometer.plugin.records.Secrets;
import org.pyrometer.plugin.ship.AgentBeside;
import org.pyrometer.plugin.ship.Destination;
import org.pyrometer.plugin.ship.PrivateFolder;
import scala.Tuple2;

/** The driver's half of the plugin. */
final class DriverComponent implements DriverPlugin {
  private static final String DRIVER = "driver";

  /** Key of the name by which a launcher finds what was shipped; the same in records. */
  private static final String RUN = "run_id";

  private static final String NO_STACKS =
      "the profiler ended with the application before it: there are no stacks of this driver";

  private static final String FULL =
      "an earlier application of this JVM has reached the bound of what nothing ships (kept_full):"
          + " of this one nothing is recorded here but which it is; start it in a JVM of its own,"
          + " or raise spark.pyrometer.ship.kept.mib";

  private static final String IGNORED =
      "this JVM keeps the settings of its first application; those of this one have no effect: ";

  private static final String IGNORED_BY_DRIVER =
      "the driver keeps the settings of its first application; only executors obey this one's: ";

  /** What the application asked for whose settings hold in this JVM; null if a file gave them. */
  private static volatile Map<String, String> first;

  /** Ships for all applications of this JVM. */
  private static AgentBeside agent;

  private final Map<String, String> application = new HashMap<>();
  private Jvm jvm;

  /** Whether a launcher on another host waits for what is recorded here. */
  private boolean ships;

  private volatile ShippedEventLog log;
  private SparkContext context;

  /** Over the executors' pods; null without any. */
  private PodWatch pods;

  @Override
  public Map<String, String> init(SparkContext context, PluginContext pluginContext) {
    try {
      SparkConf conf = pluginContext.conf();
      Secrets.learn(conf.get(Secrets.NAMES_KEY, null), conf.get(Secrets.TEXTS_KEY, null));
      jvm = Jvm.current();
      if (jvm == null) {
        jvm = Jvm.inTime(() -> begin(conf));
      }
      if (jvm == null) {
        return Collections.emptyMap();
      }
      this.context = context;
      application.put("app_name", context.appName());
      application.put("spark_version", context.version());
      application.put("master", context.master());
      Map<String, String> extra = jvm.settings().forExecutors();
      Map<String, String> asked = below(conf);
      application.put("ship_to", Destination.decide(extra, asked, context.master()));
      if (jvm.settings().isOn(Tree.KEY, false)) {
        extra.put(Tree.KEY, String.valueOf(Tree.name()));
      }
      application.put(RUN, jvm.settings().get(RUN, null));
      ships = ships(jvm.settings()) && System.getenv(Settings.ENVIRONMENT) == null;
      resume(asked);
      if (ships) {
        startLog(context);
      }
      if (context.isLocal()) {
        // The executor is this JVM, and knows it all.
        return Collections.emptyMap();
      }
      extra.putAll(application);
      extra.values().removeIf(Objects::isNull);
      return Settings.packed(extra);
    } catch (Throwable e) {
      note("driver_init", e);
      return Collections.emptyMap();
    }
  }

  @Override
  public void registerMetrics(String appId, PluginContext pluginContext) {
    try {
      if (jvm != null) {
        application.put("app_id", appId);
        jvm.codegen().running();
        jvm.recorder().offer(facts());
        if (ships) {
          startAgent(appId, pluginContext.conf());
        }
        watchPods(appId, pluginContext.conf());
      }
    } catch (Throwable e) {
      note("driver_register", e);
    }
  }

  @Override
  public Object receive(Object message) {
    try {
      if (RoundTrips.QUESTION.equals(message)) {
        return System.nanoTime();
      }
      if (jvm != null && message instanceof String) {
        // Each executor's message is keyed separately; otherwise only the first would be written.
        jvm.recorder().error("executor/" + message.hashCode(), (String) message);
      }
    } catch (Throwable e) {
      note("driver_receive", e);
    }
    return null;
  }

  @Override
  public void shutdown() {
    try {
      if (log != null) {
        Bounded.run("pyrometer-eventlog", log::stop, failure -> note("driver_eventlog", failure));
      }
      if (ships) {
        // The host may take the driver, and the agent with it, at once.
        Profiler profiler = jvm.profiler();
        Bounded.run("pyrometer-stop", profiler::stop, failure -> note("profiler_stop", failure));
        withAgent(AgentBeside::end);
      }
      if (jvm != null) {
        if (pods != null) {
          jvm.recorder().noMore(pods);
        }
        jvm.recorder().finish();
      }
      if (ships) {
        withAgent(AgentBeside::settle);
      }
    } catch (Throwable e) {
      note("driver_shutdown", e);
    }
  }

  private void begin(SparkConf conf) throws IOException {
    String file = System.getenv(Settings.ENVIRONMENT);
    if (file != null && !file.isEmpty()) {
      Settings settings = Settings.load(Path.of(file));
      start(settings, settings.rawDir());
      return;
    }
    Map<String, String> given = below(conf);
    first = Map.copyOf(given);
    Settings settings = Settings.of(given);
    if (ships(settings)) {
      Path own = PrivateFolder.create(DRIVER, "records", conf.get("spark.local.dir", null));
      given.put("raw.dir", own.toString());
      start(Settings.of(given), own);
    } else {
      start(settings, settings.rawDir());
    }
  }

  private static boolean ships(Settings settings) {
    return settings.isOn(Destination.OF_DRIVER, false)
        && !settings.get(Destination.KEY, "").isEmpty();
  }

  /** Records this application too, and says what an earlier one in this JVM has taken from it. */
  private void resume(Map<String, String> asked) {
    jvm.recorder().resume();
    jvm.recorder().offer(facts());
    tellIgnored(asked);
    if (jvm.recorder().isFull()) {
      jvm.recorder().error("kept_full_before", FULL);
    } else if (jvm.profiler().hasEnded()) {
      jvm.recorder().error("profiler_ended", NO_STACKS);
    }
  }

  private void tellIgnored(Map<String, String> asked) {
    if (first == null) {
      return;
    }
    Set<String> ignored = Settings.unlike(first, asked);
    Set<String> obeyed = new TreeSet<>(ignored);
    obeyed.removeIf(key -> !Destination.obeys(key, asked));
    ignored.removeAll(obeyed);
    tell(IGNORED, ignored);
    if (jvm.settings().isOn(Destination.OF_DRIVER, false)) {
      tell(IGNORED_BY_DRIVER, obeyed);
    }
  }

  private void tell(String what, Set<String> keys) {
    if (!keys.isEmpty()) {
      String text = what + String.join(", ", keys);
      // Keyed by itself, as applications differ; otherwise only the first would be written.
      jvm.recorder().error("settings/" + text.hashCode(), text);
    }
  }

  private void watchPods(String appId, SparkConf conf) throws ReflectiveOperationException {
    if (context.master().startsWith("k8s:") && jvm.settings().isOn(PodWatch.KEY, true)) {
      String container = conf.get(PodWatch.CONTAINER_KEY, null);
      pods = new PodWatch(context.schedulerBackend(), appId, container, jvm.recorder());
      jvm.recorder().everySecond(pods);
    }
  }

  private void startAgent(String appId, SparkConf conf) {
    synchronized (DriverComponent.class) {
      if (agent == null) {
        agent =
            new AgentBeside(
                jvm, conf, appId, DRIVER, why -> jvm.recorder().error("driver_agent", why));
        agent.start();
      }
    }
  }

  private static void withAgent(Consumer<AgentBeside> what) {
    AgentBeside running;
    synchronized (DriverComponent.class) {
      running = agent;
    }
    if (running != null) {
      what.accept(running);
    }
  }

  private static void start(Settings settings, Path folder) throws IOException {
    if (Jvm.isWritable(folder)) {
      Jvm.start(settings, DRIVER, DRIVER, folder);
    }
  }

  /** Its failure leaves the rest to be shipped. */
  private void startLog(SparkContext context) {
    Bounded.run(
        "pyrometer-eventlog",
        () -> log = ShippedEventLog.start(context, jvm),
        failure -> note("driver_eventlog", failure));
  }

  private ProcessFacts facts() {
    return new ProcessFacts(DRIVER, DRIVER, new HashMap<>(application));
  }

  private static Map<String, String> below(SparkConf conf) {
    Map<String, String> values = new HashMap<>();
    for (Tuple2<String, String> entry : conf.getAllWithPrefix(Settings.SPARK_PREFIX)) {
      values.put(entry._1(), entry._2());
    }
    return values;
  }

  private void note(String where, Throwable failure) {
    OverlayHook.failed(where, failure);
  }
}
