package org.pyrometer.plugin.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

class BoundedTest {
  private final List<Throwable> failures = new ArrayList<>();

  @Test
  void workThatEndsIsDone() {
    boolean[] done = {false};
    assertTrue(Bounded.run("test", () -> done[0] = true, failures::add, 10_000));
    assertTrue(done[0]);
    assertEquals(List.of(), failures);
  }

  @Test
  void whatIsThrownIsTold() {
    assertFalse(
        Bounded.run(
            "test",
            () -> {
              throw new IOException("full");
            },
            failures::add,
            10_000));
    assertFalse(
        Bounded.run(
            "test",
            () -> {
              throw new StackOverflowError("deep");
            },
            failures::add,
            10_000));
    assertEquals("[java.io.IOException: full, java.lang.StackOverflowError: deep]", "" + failures);
  }

  @Test
  void whatHangsIsLeftToItself() {
    CountDownLatch never = new CountDownLatch(1);
    long before = System.nanoTime();
    assertFalse(Bounded.run("test", never::await, failures::add, 50));
    assertTrue(System.nanoTime() - before < 5_000_000_000L);
    assertInstanceOf(TimeoutException.class, failures.get(0));
    never.countDown();
  }

  @Test
  void anInterruptOfTheApplicationIsKept() {
    Thread.currentThread().interrupt();
    assertTrue(Bounded.run("test", () -> Thread.sleep(20), failures::add, 10_000));
    assertTrue(Thread.interrupted());
  }

  @Test
  void aListenerThatThrowsHarmsNothing() {
    assertFalse(
        Bounded.run(
            "test",
            () -> {
              throw new IOException("full");
            },
            failure -> {
              throw new IllegalStateException(failure);
            },
            10_000));
  }
}
