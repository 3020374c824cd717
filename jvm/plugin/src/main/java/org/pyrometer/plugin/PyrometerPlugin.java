package org.pyrometer.plugin;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;
import org.pyrometer.plugin.hooks.OverlayHook;

/**
 * The Spark plugin: it records the driver and the executors, and when each task ran on which
 * thread.
 *
 * <p>No method of its components ever throws: an application must not notice that it is measured.
 */
public final class PyrometerPlugin implements SparkPlugin {
  /** Called by Spark. */
  public PyrometerPlugin() {}

  @Override
  public DriverPlugin driverPlugin() {
    try {
      return new DriverComponent();
    } catch (Throwable e) {
      OverlayHook.failed("driver_component", e);
      return null;
    }
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    try {
      return new ExecutorComponent();
    } catch (Throwable e) {
      OverlayHook.failed("executor_component", e);
      return null;
    }
  }
}
