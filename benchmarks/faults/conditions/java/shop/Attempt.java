package shop;

import org.apache.spark.TaskContext;

/** Which attempts hold memory, and when: every third task, the first time, near its end. */
final class Attempt {
  static final int ROUNDS = 1_000;

  private Attempt() {}

  static boolean isAtItsEnd(long sale, long sales) {
    if (sale % sales != sales - sales / 20) {
      return false;
    }
    TaskContext task = TaskContext.get();
    return task.attemptNumber() == 0 && task.partitionId() % 3 == 1;
  }
}
