package org.pyrometer.workloads.graph;

import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.api.java.JavaSparkContext;

/** What the programs of this package share: sums over vertices, and an end that leaves no graph. */
final class Sums {
  private Sums() {}

  /**
   * Runs a program, and removes all that it stored, however it ends: GraphX stores graphs between
   * its steps, of which it returns the last one only, and not even that if a step fails.
   */
  static double[] leavingNothingStored(JavaSparkContext context, Supplier<double[]> program) {
    Set<Integer> before = Set.copyOf(context.getPersistentRDDs().keySet());
    try {
      return program.get();
    } finally {
      context
          .getPersistentRDDs()
          .forEach(
              (id, rdd) -> {
                if (!before.contains(id)) {
                  rdd.unpersist(true);
                }
              });
    }
  }

  /** Adds the sums of one partition to those of others. */
  static double[] merge(double[] sums, double[] more) {
    for (int i = 0; i < sums.length; i++) {
      sums[i] += more[i];
    }
    return sums;
  }
}
