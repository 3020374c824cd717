package org.pyrometer.plugin.host;

/** How long to wait for what takes moments: longer in a machine whose processor is emulated. */
public final class Patience {
  /** Variable that says how many times as long. */
  static final String VARIABLE = "PYROMETER_PATIENCE";

  private static final long MOST = 1000;

  private Patience() {}

  /**
   * How long to wait here.
   *
   * @param usualMs how long on a processor, in milliseconds
   */
  public static long patient(long usualMs) {
    return patient(usualMs, System.getenv(VARIABLE));
  }

  static long patient(long usualMs, String times) {
    try {
      return usualMs * Math.min(Math.max(1, Long.parseLong(times)), MOST);
    } catch (NumberFormatException e) {
      return usualMs;
    }
  }
}
