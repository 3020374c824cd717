package org.pyrometer.plugin.tasks;

/** Local properties of Spark's threads that say what a thread works for. */
public final class LocalProperties {
  /** Id of a SQL execution. */
  public static final String SQL = "spark.sql.execution.id";

  /** Number of an iteration. */
  public static final String ITERATION = "pyrometer.iteration";

  private LocalProperties() {}
}
