package org.pyrometer.plugin;

import java.lang.instrument.Instrumentation;

/**
 * Entry of {@code -javaagent}; its argument is the path of {@code agent.properties}.
 *
 * <p>Compiled for Java 8, so that a JVM too old for the rest starts with the agent as well: an
 * agent whose class cannot be loaded ends the JVM.
 */
public final class Agent {
  /** First version of class files that the rest of the agent is compiled to: Java 11. */
  private static final double NEEDED_CLASS_VERSION = 55;

  private Agent() {}

  /**
   * Called by the JVM before the application's {@code main}. Never throws.
   *
   * @param argument path of the properties file
   * @param instrumentation what lets us see {@code SparkContext} as it is loaded
   */
  public static void premain(String argument, Instrumentation instrumentation) {
    try {
      if (Double.parseDouble(System.getProperty("java.class.version")) >= NEEDED_CLASS_VERSION) {
        // By name: the verifier of an old JVM would load a direct reference.
        Class.forName("org.pyrometer.plugin.AgentStart")
            .getMethod("start", String.class, Instrumentation.class)
            .invoke(null, argument, instrumentation);
      }
    } catch (Throwable e) {
      // There is nowhere to report it, and the application must not notice.
      return;
    }
  }
}
