package org.pyrometer.plugin;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.hooks.OverlayHook;
import org.pyrometer.plugin.host.Tree;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.records.ProcessFacts;
import org.pyrometer.plugin.ship.Destination;
import scala.Tuple2;

/** The driver's half of the plugin. */
final class DriverComponent implements DriverPlugin {
  private final Map<String, String> application = new HashMap<>();
  private Jvm jvm;

  @Override
  public Map<String, String> init(SparkContext context, PluginContext pluginContext) {
    try {
      jvm = Jvm.current();
      if (jvm == null) {
        jvm = Jvm.inTime(() -> begin(pluginContext.conf()));
      }
      if (jvm == null) {
        return Collections.emptyMap();
      }
      application.put("app_name", context.appName());
      application.put("spark_version", context.version());
      application.put("master", context.master());
      Map<String, String> extra = jvm.settings().forExecutors();
      Map<String, String> asked = below(pluginContext.conf());
      application.put("ship_to", Destination.decide(extra, asked, context.master()));
      if (jvm.settings().isOn(Tree.KEY, false)) {
        extra.put(Tree.KEY, String.valueOf(Tree.name()));
      }
      jvm.recorder().resume();
      jvm.recorder().offer(facts());
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
      if (jvm != null) {
        jvm.recorder().finish();
      }
    } catch (Throwable e) {
      note("driver_shutdown", e);
    }
  }

  private static void begin(SparkConf conf) throws IOException {
    Settings settings;
    String file = System.getenv(Settings.ENVIRONMENT);
    if (file != null && !file.isEmpty()) {
      settings = Settings.load(Path.of(file));
    } else {
      settings = Settings.of(below(conf));
    }
    Path folder = settings.rawDir();
    if (Jvm.isWritable(folder)) {
      Jvm.start(settings, "driver", "driver", folder);
    }
  }

  private ProcessFacts facts() {
    return new ProcessFacts("driver", "driver", new HashMap<>(application));
  }

  private static Map<String, String> below(SparkConf conf) {
    Map<String, String> values = new HashMap<>();
    for (Tuple2<String, String> entry : conf.getAllWithPrefix(Settings.SPARK_PREFIX)) {
      values.put(entry._1(), entry._2());
    }
    return values;
  }

  private void note(String where, Throwable failure) {
    if (jvm != null) {
      OverlayHook.failed(where, failure);
    }
  }
}
