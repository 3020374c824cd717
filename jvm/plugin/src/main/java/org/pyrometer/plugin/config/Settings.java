package org.pyrometer.plugin.config;

import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Settings of the agent and the plugin from the launcher: the keys of {@code agent.properties}.
 *
 * <p>{@code docs/reference/plugin.md} describes every key.
 */
public final class Settings {
  /** Prefix of the same keys when they are given as Spark settings. */
  public static final String SPARK_PREFIX = "spark.pyrometer.";

  /** Environment variable that names the properties file where there is no agent. */
  public static final String ENVIRONMENT = "PYROMETER_AGENT_PROPERTIES";

  private static final String PACKED = "settings";

  private final Map<String, String> values;

  private Settings(Map<String, String> values) {
    this.values = values;
  }

  /** Settings with the given keys. */
  public static Settings of(Map<String, String> values) {
    return new Settings(new TreeMap<>(values));
  }

  /**
   * Reads a properties file.
   *
   * @throws IOException if it cannot be read
   */
  public static Settings load(Path file) throws IOException {
    try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      return of(read(reader));
    }
  }

  private static Map<String, String> read(Reader reader) throws IOException {
    Properties properties = new Properties();
    properties.load(reader);
    Map<String, String> values = new HashMap<>();
    for (String name : properties.stringPropertyNames()) {
      values.put(name, properties.getProperty(name));
    }
    return values;
  }

  /**
   * Puts values for executors into one entry. Spark makes a setting of each entry, and sends all
   * settings with every job, stage and task of a query.
   *
   * @throws IOException never
   */
  public static Map<String, String> packed(Map<String, String> values) throws IOException {
    Properties properties = new Properties();
    properties.putAll(values);
    StringWriter text = new StringWriter();
    properties.store(text, null);
    // The first line is a date.
    return Map.of(PACKED, text.toString().replaceFirst("^#.*\\R", ""));
  }

  /**
   * Gives what the driver {@link #packed}; of a driver that packed nothing, nothing.
   *
   * @throws IOException if it cannot be read
   */
  public static Map<String, String> unpacked(Map<String, String> entry) throws IOException {
    String text = entry == null ? null : entry.get(PACKED);
    return text == null ? Map.of() : read(new StringReader(text));
  }

  /** Keys that two applications give different values, or that only one of them gives; in order. */
  public static Set<String> unlike(Map<String, String> one, Map<String, String> other) {
    Set<String> keys = new TreeSet<>(one.keySet());
    keys.addAll(other.keySet());
    keys.removeIf(key -> Objects.equals(one.get(key), other.get(key)));
    return keys;
  }

  /** Folder for raw streams, or null if none was given. */
  public Path rawDir() {
    String value = values.get("raw.dir");
    return value == null || value.isEmpty() ? null : Path.of(value);
  }

  /** Value of a key, or the fallback if it is absent. */
  public String get(String key, String fallback) {
    return values.getOrDefault(key, fallback);
  }

  /** Whether a switch is on; anything but {@code off}, {@code false} and {@code 0} is on. */
  public boolean isOn(String key, boolean fallback) {
    String value = values.get(key);
    if (value == null) {
      return fallback;
    }
    return !(value.equals("off") || value.equalsIgnoreCase("false") || value.equals("0"));
  }

  /** A number not below {@code least}; the fallback if it is absent or not a number. */
  public long number(String key, long fallback, long least) {
    try {
      return Math.max(least, Long.parseLong(values.getOrDefault(key, "").trim()));
    } catch (NumberFormatException e) {
      return fallback;
    }
  }

  /** Keys below a prefix such as {@code conf.}, without it, in order. */
  public Map<String, String> withPrefix(String prefix) {
    Map<String, String> found = new TreeMap<>();
    for (Map.Entry<String, String> entry : values.entrySet()) {
      if (entry.getKey().startsWith(prefix)) {
        found.put(entry.getKey().substring(prefix.length()), entry.getValue());
      }
    }
    return found;
  }

  /** What executors need: everything but the rules for the configuration. */
  public Map<String, String> forExecutors() {
    Map<String, String> kept = new HashMap<>();
    for (Map.Entry<String, String> entry : values.entrySet()) {
      String key = entry.getKey();
      if (!key.startsWith("conf.") && !key.startsWith("force.") && !key.startsWith("append.")) {
        kept.put(key, entry.getValue());
      }
    }
    return kept;
  }
}
