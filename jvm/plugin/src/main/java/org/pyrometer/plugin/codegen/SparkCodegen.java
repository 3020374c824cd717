package org.pyrometer.plugin.codegen;

import java.nio.file.Path;
import org.apache.spark.metrics.source.CodegenMetrics;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.LineFile;
import org.pyrometer.plugin.records.Recorder;
import org.pyrometer.plugin.records.Sink;

/** The capture of the code generator of the Spark that runs in this JVM. */
public final class SparkCodegen {
  private volatile boolean running;

  /**
   * The capture, or null if the settings do not ask for it.
   *
   * @param settings {@code codegen.interval.ms}, {@code codegen.max.bytes}
   * @param file where it writes; created once there is something to write
   * @param recorder where failures of the file are noted
   */
  public CodegenCapture capture(Settings settings, Path file, Recorder recorder) {
    if (settings.number("codegen.interval.ms", 0, 0) == 0) {
      return null;
    }
    return new CodegenCapture(
        new LineFile(Sink.laterFile(file), failure -> recorder.error("codegen_write", failure)),
        settings.number("codegen.max.bytes", 32L << 20, 0),
        // Counted by a class that a context or an executor initialises as it starts. Once it is
        // above zero the generator is initialised too.
        () -> running ? CodegenMetrics.METRIC_COMPILATION_TIME().getCount() : 0,
        () -> Class.forName(CodegenCache.GENERATOR, false, CodegenMetrics.class.getClassLoader()));
  }

  /** A context or an executor has started here. */
  public void running() {
    running = true;
  }
}
