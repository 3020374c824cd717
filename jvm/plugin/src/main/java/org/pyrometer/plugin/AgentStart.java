package org.pyrometer.plugin;

import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.hooks.SparkContextTransformer;
import org.pyrometer.plugin.jvm.Bounded;
import org.pyrometer.plugin.jvm.Jvm;

/** What the agent does at the start of a JVM, for as long as the application may wait for it. */
public final class AgentStart {
  private AgentStart() {}

  /**
   * Starts all of Pyrometer in this JVM, if there is a folder to write to.
   *
   * @param argument path of the properties file
   * @param instrumentation what lets us see {@code SparkContext} as it is loaded
   */
  public static void start(String argument, Instrumentation instrumentation) {
    Bounded.run(
        "pyrometer-start",
        () -> begin(argument, instrumentation),
        failure -> Jvm.failed("agent", failure));
  }

  private static void begin(String argument, Instrumentation instrumentation) throws Exception {
    Settings settings = Settings.load(Path.of(argument));
    Path folder = settings.rawDir();
    if (Jvm.isWritable(folder)) {
      instrumentation.addTransformer(new SparkContextTransformer());
      Jvm.start(settings, "driver", "driver", folder);
    }
  }
}
