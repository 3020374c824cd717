package org.pyrometer.plugin.records;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RingTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 16, 1000})
  void holdsWhatItMayAndNoMore(int capacity) {
    Ring<Integer> ring = new Ring<>(capacity);
    List<Integer> expected = new ArrayList<>();
    List<Integer> taken = new ArrayList<>();
    for (int round = 0; round < 5; round++) {
      for (int i = 0; i < capacity; i++) {
        expected.add(round * capacity + i);
        assertTrue(ring.offer(round * capacity + i));
      }
      assertFalse(ring.offer(-1));
      assertEquals(capacity, ring.size());
      int first = ring.drainTo(taken, (capacity + 1) / 2);
      assertEquals((capacity + 1) / 2, first);
      assertEquals(capacity - first, ring.drainTo(taken, Integer.MAX_VALUE));
      assertTrue(ring.isEmpty());
      assertEquals(0, ring.drainTo(taken, 1));
    }
    assertEquals(expected, taken);
  }

  @Test
  void whatIsLetGoLeavesRoom() {
    Ring<String> ring = new Ring<>(2);
    ring.offer("a");
    ring.offer("b");
    ring.clear();
    assertTrue(ring.isEmpty());
    assertTrue(ring.offer("c"));
    List<String> taken = new ArrayList<>();
    ring.drainTo(taken, 9);
    assertEquals(List.of("c"), taken);
  }

  /** An element says which thread offered it, and its how manieth it is. */
  @Test
  void nothingIsLostRepeatedOrReorderedBetweenManyThreads() {
    int threads = 4;
    long each = 200_000;
    Ring<long[]> ring = new Ring<>(100);
    AtomicLong refused = new AtomicLong();
    CountDownLatch running = new CountDownLatch(threads);
    for (int thread = 0; thread < threads; thread++) {
      int number = thread;
      Thread offering =
          new Thread(
              () -> {
                for (long i = 0; i < each; i++) {
                  if (!ring.offer(new long[] {number, i})) {
                    refused.incrementAndGet();
                    Thread.onSpinWait();
                  }
                }
                running.countDown();
              });
      offering.setDaemon(true);
      offering.start();
    }
    long[] last = {-1, -1, -1, -1};
    long[] count = {0};
    assertTimeoutPreemptively(
        Duration.ofSeconds(60),
        () -> {
          List<long[]> batch = new ArrayList<>();
          boolean over = false;
          while (!over) {
            over = running.getCount() == 0;
            ring.drainTo(batch, Integer.MAX_VALUE);
            for (long[] element : batch) {
              assertTrue(element[1] > last[(int) element[0]], "reordered or repeated");
              last[(int) element[0]] = element[1];
              count[0]++;
            }
            batch.clear();
          }
        });
    assertEquals(threads * each, count[0] + refused.get());
    assertTrue(refused.get() > 0, "it was never full");
    assertTrue(ring.isEmpty());
  }
}
