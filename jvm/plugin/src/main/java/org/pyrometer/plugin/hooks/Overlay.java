package org.pyrometer.plugin.hooks;

import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Event;
import org.pyrometer.plugin.records.Json;
import org.pyrometer.plugin.records.Secrets;

/**
 * What is added to the user's Spark configuration.
 *
 * <p>The user's values win; lists are appended to, each element once; only what measuring requires
 * is forced. Every decision is recorded.
 */
public final class Overlay {
  /** A Spark configuration. */
  public interface Conf {
    /** Value of a key, or null. */
    String get(String key);

    /** Sets a key. */
    void set(String key, String value);
  }

  /** Begins the reason of a record that names options which the application says otherwise. */
  public static final String LEFT_OUT = "the application says otherwise: ";

  private static final String PLUGIN = "org.pyrometer.plugin.PyrometerPlugin";
  private static final String LOG = "spark.eventLog.";
  private static final String LOG_ENABLED = "spark.eventLog.enabled";
  private static final String LOG_DIR = "spark.eventLog.dir";
  private static final String LOG_DIR_DEFAULT = "/tmp/spark-events";
  private static final String CLASS_PATH = "spark.executor.extraClassPath";
  private static final Set<String> JAVA_OPTIONS =
      Set.of("spark.executor.extraJavaOptions", "spark.driver.extraJavaOptions");
  private static final Map<String, String> SEPARATORS =
      Map.of(CLASS_PATH, ":", "spark.executor.extraLibraryPath", ":");

  private final Settings settings;
  private final Path jar;
  private final Predicate<String> takesLogs;
  private Conf conf;
  private Consumer<Event> records;

  /**
   * An overlay.
   *
   * @param settings the rules
   * @param jar our own jar, which executors need
   * @param takesLogs whether a folder can be written to; without its event log a Spark application
   *     does not start
   */
  public Overlay(Settings settings, Path jar, Predicate<String> takesLogs) {
    this.settings = settings;
    this.jar = jar;
    this.takesLogs = takesLogs;
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
    boolean logs = usersLog || canLog();
    for (Map.Entry<String, String> rule : settings.withPrefix("force.").entrySet()) {
      if (logs || !rule.getKey().startsWith(LOG)) {
        force(rule.getKey(), rule.getValue());
      }
    }
    for (Map.Entry<String, String> rule : settings.withPrefix("conf.").entrySet()) {
      if (!rule.getKey().startsWith(LOG)) {
        setIfAbsent(rule.getKey(), rule.getValue());
      } else if (logs) {
        eventLog(rule.getKey(), rule.getValue(), usersLog);
      }
    }
    for (Map.Entry<String, String> rule : settings.withPrefix("append.").entrySet()) {
      if (JAVA_OPTIONS.contains(rule.getKey())) {
        appendOptions(rule.getKey(), rule.getValue());
      } else {
        append(rule.getKey(), rule.getValue(), "asked for by the run");
      }
    }
    if (settings.isOn("plugin", true) && canShip()) {
      append("spark.plugins", PLUGIN, "task spans and process facts");
      shipJar();
    }
  }

  /** Whether the event log that the rules switch on can be written. */
  private boolean canLog() {
    if (!"true".equalsIgnoreCase(settings.get("force." + LOG_ENABLED, null))) {
      return true;
    }
    String user = conf.get(LOG_DIR);
    String folder = settings.get("conf." + LOG_DIR, user == null ? LOG_DIR_DEFAULT : user);
    if (takesLogs.test(folder)) {
      return true;
    }
    String reason = "no event log: " + folder + " cannot be written, and without it Spark ends";
    record(LOG_ENABLED, conf.get(LOG_ENABLED), "kept_user", reason);
    return false;
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
      String old = shown(key, user);
      record(key, value, "forced", "nothing can be measured with the user's value, " + old);
    }
  }

  /**
   * The user's event log is not changed; for one that the agent switches on, all settings are the
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
      String old = shown(key, user);
      record(key, value, "forced", "the user's event log was off, with the value " + old);
    }
  }

  private void setIfAbsent(String key, String value) {
    String user = conf.get(key);
    if (user == null) {
      conf.set(key, value);
      record(key, value, "set", "not set by the user");
    } else {
      String ours = shown(key, value);
      record(key, user, "kept_user", user.equals(value) ? "the same" : "instead of " + ours);
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

  /** Ours behind the application's, which stay as they are. */
  private void appendOptions(String key, String value) {
    String user = conf.get(key);
    JavaOptions merged = new JavaOptions(user, value);
    String reason = merged.added ? "asked for by the run" : "it holds the value already";
    if (!merged.leftOut.isEmpty()) {
      reason = LEFT_OUT + JavaOptions.join(Secrets.arguments(merged.leftOut));
    }
    if (merged.added) {
      conf.set(key, merged.text);
    }
    record(
        key, merged.text, !merged.added ? "kept_user" : user == null ? "set" : "appended", reason);
  }

  /** Whether the jar reaches executors; one that does not find the plugin's class ends. */
  private boolean canShip() {
    if (inDriver() || jar.toString().indexOf(',') < 0) {
      return true;
    }
    String reason = "no plugin: a comma in its path would cut the list of jars: " + jar;
    record("spark.plugins", conf.get("spark.plugins"), "kept_user", reason);
    return false;
  }

  private boolean inDriver() {
    String master = conf.get("spark.master");
    return master == null || master.equals("local") || master.startsWith("local[");
  }

  private void shipJar() {
    if (inDriver()) {
      return;
    }
    String master = conf.get("spark.master");
    String path = jar.toString();
    if (master.startsWith("local-cluster") && path.indexOf(':') < 0) {
      append(CLASS_PATH, path, "executors on this host load the plugin from here");
    } else {
      append("spark.jars", jar.toUri().toString(), "executors on any host load the plugin from it");
    }
  }

  /** A value as it may be told: options of a JVM word by word, as a secret may have any letter. */
  private static String shown(String key, String value) {
    if (value == null || !key.endsWith("JavaOptions")) {
      return Secrets.redacted(key, value);
    }
    List<String> words = JavaOptions.split(value);
    if (words == null) {
      return Secrets.text(value).equals(value) ? value : Secrets.REDACTED;
    }
    List<String> kept = Secrets.arguments(words);
    return kept.equals(words) ? value : JavaOptions.join(kept);
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
                .put("value", shown(key, value))
                .put("how", how)
                .put("reason", Secrets.text(reason))
                .close();
          }
        });
  }
}
