package shop;

import org.apache.spark.sql.api.java.UDF4;
import org.apache.spark.unsafe.Platform;

/**
 * Price after some work, in a container as a cluster manager makes one for each executor; before
 * the last sales of some first attempts, memory beside the heap is held for a moment.
 */
public final class HeldBesideHeap implements UDF4<Long, Long, Integer, String, Long> {
  @Override
  public Long call(Long sale, Long sales, Integer mebibytes, String container) {
    Container.enter(container);
    if (Attempt.isAtItsEnd(sale, sales)) {
      long bytes = (long) mebibytes << 20;
      long held = Platform.allocateMemory(bytes);
      Platform.setMemory(held, (byte) 1, bytes);
      Platform.freeMemory(held);
    }
    return Price.after(sale, Attempt.ROUNDS);
  }
}
