package org.pyrometer.plugin.hooks;

import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Event;
import org.pyrometer.plugin.records.Json;

/**
 * What is added to the user's Spark configuration.
 *
 * <p>The user's values win; lists are appended to, each element once; only what nothing can be
 * measured without is forced. Every decision is recorded.
 */
public final class Overlay {
  /** A Spark configuration. */
  public interface Conf {
    /** Value of a key, or null. */
    String get(String key);

    /** Sets a key. */
    void set(String key, String value);
  }

  private static final String PLUGIN = "org.pyrometer.plugin.PyrometerPlugin";
  private static final String LOG = "spark.eventLog.";
  private static final String LOG_ENABLED = "spark.eventLog.enabled";
  private static final String LOG_DIR = "spark.eventLog.dir";
  private static final String LOG_DIR_DEFAULT = "/tmp/spark-events";
  private static final String CLASS_PATH = "spark.executor.extraClassPath";
  private static final Map<String, String> SEPARATORS =
      Map.of(
          "spark.executor.extraJavaOptions",
          " ",
          "spark.driver.extraJavaOptions",
          " ",
          CLASS_PATH,
          ":",
          "spark.executor.extraLibraryPath",
          ":");

  private final Settings settings;
  private final Path jar;
  private Conf conf;
  private Consumer<Event> records;

  /**
   * An overlay.
   *
   * @param settings the rules
   * @param jar our own jar, which executors need
   */
  public Overlay(Settings settings, Path jar) {
    this.settings = settings;
    this.jar = jar;
  }

  /**
   * Applies the rules.
   *
   * @param target the configuration to change
   * @param sink takes the {@code overlay} records
   */
  public void apply(Conf target, Consumer<Event> sink) {
    conf = target;
    records = sink;
    boolean usersLog = "true".equalsIgnoreCase(conf.get(LOG_ENABLED));
    settings.withPrefix("force.").forEach(this::force);
    for (Map.Entry<String, String> rule : settings.withPrefix("conf.").entrySet()) {
      if (rule.getKey().startsWith(LOG)) {
        eventLog(rule.getKey(), rule.getValue(), usersLog);
      } else {
        setIfAbsent(rule.getKey(), rule.getValue());
      }
    }
    settings
        .withPrefix("append.")
        .forEach((key, value) -> append(key, value, "asked for by the run"));
    if (settings.isOn("plugin", true)) {
      append("spark.plugins", PLUGIN, "task spans and process facts");
      shipJar();
    }
  }

  private void force(String key, String value) {
    String user = conf.get(key);
    if (value.equals(user)) {
      record(key, value, "kept_user", "the user's value is the one needed");
      return;
    }
    conf.set(key, value);
    if (user == null) {
      record(key, value, "set", "needed to measure");
    } else {
      record(key, value, "forced", "nothing can be measured with the user's value, " + user);
    }
  }

  /**
   * The user's own event log is not changed; of one that the agent switches on all settings are the
   * agent's.
   */
  private void eventLog(String key, String value, boolean usersLog) {
    String user = conf.get(key);
    if (usersLog) {
      if (key.equals(LOG_DIR) && user == null) {
        record(
            key, LOG_DIR_DEFAULT, "kept_user", "the user's event log, in Spark's default folder");
      } else {
        record(key, user, "kept_user", "the user has an event log of their own");
      }
    } else if (user == null) {
      conf.set(key, value);
      record(key, value, "set", "not set by the user");
    } else if (user.equals(value)) {
      record(key, value, "kept_user", "the user's value is the same");
    } else {
      conf.set(key, value);
      record(key, value, "forced", "the user's event log was off, with the value " + user);
    }
  }

  private void setIfAbsent(String key, String value) {
    String user = conf.get(key);
    if (user == null) {
      conf.set(key, value);
      record(key, value, "set", "not set by the user");
    } else {
      record(key, user, "kept_user", user.equals(value) ? "the same" : "instead of " + value);
    }
  }

  private void append(String key, String value, String reason) {
    String separator = SEPARATORS.getOrDefault(key, ",");
    String user = conf.get(key);
    Set<String> elements = new LinkedHashSet<>();
    for (String element : value.split(separator)) {
      if (!element.isBlank()) {
        elements.add(element.trim());
      }
    }
    String merged = user == null ? "" : user;
    if (!merged.isBlank()) {
      for (String element : merged.split(separator)) {
        elements.remove(element.trim());
      }
    }
    if (elements.isEmpty()) {
      record(key, user, "kept_user", "it holds the value already");
      return;
    }
    String added = String.join(separator, elements);
    merged = merged.isBlank() ? added : merged + separator + added;
    conf.set(key, merged);
    record(key, merged, user == null ? "set" : "appended", reason);
  }

  private void shipJar() {
    String master = conf.get("spark.master");
    if (master == null || master.equals("local") || master.startsWith("local[")) {
      return;
    }
    String path = jar.toString();
    if (master.startsWith("local-cluster") && path.indexOf(':') < 0) {
      append(CLASS_PATH, path, "executors on this host load the plugin from here");
    } else {
      append("spark.jars", jar.toUri().toString(), "executors on any host load the plugin from it");
    }
  }

  private void record(String key, String value, String how, String reason) {
    records.accept(
        new Event() {
          @Override
          public String kind() {
            return "overlay";
          }

          @Override
          public void format(StringBuilder out) {
            new Json(out)
                .open(kind())
                .put("key", key)
                .put("value", value)
                .put("how", how)
                .put("reason", reason)
                .close();
          }
        });
  }
}
