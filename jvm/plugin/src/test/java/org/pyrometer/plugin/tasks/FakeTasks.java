package org.pyrometer.plugin.tasks;

import java.util.Map;
import java.util.Properties;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import scala.collection.immutable.Map$;

/** Puts Spark's own task context on the calling thread, as an executor does. */
public final class FakeTasks {
  private FakeTasks() {}

  /** Enters a task. */
  public static void enter(
      int stage, int stageAttempt, long task, Map<String, String> localProperties) {
    Properties properties = new Properties();
    properties.putAll(localProperties);
    TaskContext$.MODULE$.setTaskContext(
        new TaskContextImpl(
            stage,
            stageAttempt,
            4,
            task,
            0,
            8,
            null,
            properties,
            null,
            TaskMetrics.empty(),
            1,
            Map$.MODULE$.empty()));
  }

  /** Leaves it; Spark does so before it notifies plugins that the task has ended. */
  public static void leave() {
    TaskContext$.MODULE$.unset();
  }
}
