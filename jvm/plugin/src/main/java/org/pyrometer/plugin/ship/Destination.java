package org.pyrometer.plugin.ship;

import java.util.Map;

/** Where executors ship what they write, as the driver decides it. */
public final class Destination {
  /** A folder or URL, whatever the master. */
  public static final String KEY = "ship.to";

  /** The same for executors that may be on other hosts. */
  static final String OF_A_CLUSTER = "ship.cluster.to";

  /** Whether a driver ships what it records, as executors do. */
  public static final String OF_DRIVER = "ship.driver";

  private static final String PREFIX = "ship.";

  private Destination() {}

  /**
   * Puts the place into what executors are given, or takes it out where there is none.
   *
   * @param handed what executors are given
   * @param asked the application's own settings below {@code spark.pyrometer.}
   * @param master of the application
   * @return the place, or null
   */
  public static String decide(
      Map<String, String> handed, Map<String, String> asked, String master) {
    for (Map.Entry<String, String> setting : asked.entrySet()) {
      if (setting.getKey().startsWith(PREFIX)) {
        handed.put(setting.getKey(), setting.getValue());
      }
    }
    String ofCluster = handed.remove(OF_A_CLUSTER);
    String place = handed.getOrDefault(KEY, "");
    if (place.isEmpty() && ofCluster != null && !isHere(master)) {
      place = ofCluster;
    }
    if (place.isEmpty() || isOneProcess(master)) {
      handed.remove(KEY);
      return null;
    }
    handed.put(KEY, place);
    return place;
  }

  /**
   * Whether executors do as an application says, though its JVM keeps the settings of another.
   *
   * @param key below {@code spark.pyrometer.}
   * @param asked the application's own settings; of a key that it does not give, the other's hold
   */
  public static boolean obeys(String key, Map<String, String> asked) {
    return key.startsWith(PREFIX) && !key.equals(OF_DRIVER) && asked.containsKey(key);
  }

  /** Whether the driver is the only executor. */
  private static boolean isOneProcess(String master) {
    return master.equals("local") || master.startsWith("local[");
  }

  /** Whether all executors are on the driver's host. */
  private static boolean isHere(String master) {
    return master.startsWith("local");
  }

  /** The folder that a place names, or null if it is a URL of something else. */
  static String folder(String place) {
    if (place.startsWith("/")) {
      return place;
    }
    return place.startsWith("file://") ? place.substring("file://".length()) : null;
  }
}
