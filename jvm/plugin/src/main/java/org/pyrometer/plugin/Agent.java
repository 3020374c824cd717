package org.pyrometer.plugin;

import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.hooks.SparkContextTransformer;
import org.pyrometer.plugin.jvm.Jvm;

/** Entry of {@code -javaagent}; its argument is the path of {@code agent.properties}. */
public final class Agent {
  private Agent() {}

  /**
   * Called by the JVM before the application's {@code main}.
   *
   * @param argument path of the properties file
   * @param instrumentation what lets us see {@code SparkContext} as it is loaded
   */
  public static void premain(String argument, Instrumentation instrumentation) {
    try {
      Settings settings = Settings.load(Path.of(argument));
      Path folder = settings.rawDir();
      if (!Jvm.isWritable(folder)) {
        return;
      }
      instrumentation.addTransformer(new SparkContextTransformer());
      Jvm.start(settings, "driver", "driver", folder);
    } catch (Throwable e) {
      Jvm jvm = Jvm.current();
      if (jvm != null) {
        jvm.recorder().error("agent", e);
      }
    }
  }
}
