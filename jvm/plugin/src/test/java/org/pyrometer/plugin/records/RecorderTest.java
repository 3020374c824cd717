package org.pyrometer.plugin.records;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.pyrometer.plugin.config.Settings;

class RecorderTest {
  private static final Map<String, String> QUIET =
      Map.of(
          "mx.interval.ms", "0",
          "clock.interval.ms", "0",
          "flush.interval.ms", "5",
          "queue.capacity", "64");

  private final ByteArrayOutputStream written = new ByteArrayOutputStream();

  private static Event event(int number) {
    return event(number, () -> {});
  }

  /** An event whose formatting begins with something else. */
  private static Event event(int number, Runnable first) {
    return new Event() {
      @Override
      public String kind() {
        return "task";
      }

      @Override
      public void format(StringBuilder out) {
        first.run();
        new Json(out).open("task").put("n", number).close();
      }
    };
  }

  private List<String> lines(String kind) {
    return written
        .toString(UTF_8)
        .lines()
        .filter(line -> line.startsWith("{\"k\":\"" + kind + "\""))
        .collect(Collectors.toList());
  }

  private static void until(java.util.function.BooleanSupplier condition) {
    assertTimeoutPreemptively(
        Duration.ofSeconds(10),
        () -> {
          while (!condition.getAsBoolean()) {
            Thread.sleep(2);
          }
        });
  }

  private Recorder started(Sink sink) {
    Recorder recorder = new Recorder(sink, Settings.of(QUIET));
    recorder.start();
    return recorder;
  }

  @Test
  void somethingElseIsDoneOnceASecondAndMayFail() {
    AtomicInteger times = new AtomicInteger();
    Recorder recorder = new Recorder(written::write, Settings.of(QUIET));
    recorder.everySecond(
        () -> {
          times.incrementAndGet();
          throw new IllegalStateException("gone");
        });
    AtomicInteger others = new AtomicInteger();
    Runnable other = others::incrementAndGet;
    recorder.everySecond(other);
    recorder.start();
    until(() -> others.get() >= 2);
    recorder.noMore(other);
    until(() -> times.get() >= 3);
    assertEquals(2, others.get());
    assertTrue(recorder.offer(event(1)));
    recorder.finish();
    assertEquals(1, lines("task").size());
    assertTrue(lines("error").get(0).contains("\"where\":\"look\""), lines("error").get(0));
  }

  @Test
  void writesInOrderAndSaysBye() {
    Recorder recorder = started(written::write);
    for (int i = 0; i < 50; i++) {
      assertTrue(recorder.offer(event(i)));
    }
    recorder.finish();
    assertEquals(50, lines("task").size());
    assertEquals("{\"k\":\"task\",\"n\":49}", lines("task").get(49));
    assertEquals(1, lines("bye").size());
    assertTrue(lines("bye").get(0).contains("\"written\":50,\"dropped\":0"), lines("bye").get(0));
    recorder.finish();
    assertEquals(1, lines("bye").size(), "nothing happened since");
    recorder.resume();
    recorder.offer(event(50));
    recorder.finish();
    assertEquals(2, lines("bye").size());
  }

  @Test
  void whatWasOfferedBeforeAFarewellIsWrittenBeforeItsBye() throws InterruptedException {
    CountDownLatch busy = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    Recorder recorder = started(written::write);
    recorder.offer(
        event(
            0,
            () -> {
              busy.countDown();
              assertDoesNotThrow(() -> go.await());
            }));
    busy.await();
    // The writer is past its look at the queue: this record and the farewell come while it writes.
    recorder.offer(event(1));
    Thread leaving = new Thread(recorder::finish);
    leaving.start();
    until(() -> leaving.getState() == Thread.State.TIMED_WAITING);
    go.countDown();
    leaving.join();
    assertEquals(2, lines("task").size(), written.toString(UTF_8));
    String bye = lines("bye").get(0);
    assertTrue(bye.contains("\"written\":2,"), bye);
    assertTrue(written.toString(UTF_8).endsWith(bye + "\n"), written.toString(UTF_8));
  }

  @Test
  void aFarewellThatFailsIsTriedAgain() {
    AtomicBoolean failing = new AtomicBoolean(true);
    Recorder recorder = started(written::write);
    Event broken =
        event(
            2,
            () -> {
              failing.set(false);
              throw new IllegalStateException("no memory, say");
            });
    Runnable offersItAfterTheFarewell =
        () -> {
          Thread leaving = new Thread(recorder::finish);
          leaving.start();
          until(() -> leaving.getState() == Thread.State.TIMED_WAITING);
          recorder.offer(broken);
        };
    recorder.offer(event(1, offersItAfterTheFarewell));
    until(() -> !lines("bye").isEmpty());
    assertFalse(failing.get());
    assertEquals(1, lines("error").size(), written.toString(UTF_8));
    assertEquals(1, recorder.droppedCount(), "what could not be formatted");
  }

  @Test
  void recordsReachTheFileWithoutAFarewell() {
    Recorder recorder = started(written::write);
    recorder.offer(event(1));
    until(() -> lines("task").size() == 1);
  }

  @Test
  void readsSeriesAndClocks() {
    Recorder recorder = new Recorder(written::write, Settings.of(Map.of("mx.interval.ms", "20")));
    recorder.start();
    until(() -> lines("mx").size() > 2);
    recorder.finish();
    int before = lines("mx").size();
    String mx = lines("mx").get(0);
    assertTrue(mx.contains("\"heap_used_bytes\":"), mx);
    assertTrue(mx.contains("\"gc_count/"), mx);
    assertTrue(mx.contains("\"pyrometer_cpu_ns\":"), mx);
    assertFalse(lines("clock").isEmpty());
    recorder.offer(event(1));
    until(() -> lines("task").size() == 1);
    assertEquals(before, lines("mx").size(), "no series after the farewell");
  }

  @Test
  void aFullDiskLosesRecordsCountsThemAndRecovers() {
    AtomicBoolean full = new AtomicBoolean(true);
    Recorder recorder =
        started(
            bytes -> {
              if (full.get()) {
                written.write(bytes, 0, 3);
                throw new IOException("No space left on device");
              }
              written.write(bytes);
            });
    recorder.offer(event(1));
    until(() -> recorder.droppedCount() > 0);
    full.set(false);
    // After a second the disk is tried again.
    until(
        () -> {
          recorder.offer(event(2));
          return !lines("task").isEmpty();
        });
    recorder.finish();
    assertTrue(lines("drop").stream().anyMatch(line -> line.contains("\"kind\":\"write\"")));
    assertTrue(lines("bye").size() == 1);
    // The half line does not swallow the one after it.
    assertTrue(written.toString(UTF_8).startsWith("{\"k\n{\"k\""));
  }

  @Test
  void aDiskThatHangsNeverHoldsUpATask() {
    CountDownLatch stuck = new CountDownLatch(1);
    Recorder recorder =
        started(
            bytes -> {
              try {
                stuck.await();
              } catch (InterruptedException e) {
                throw new IOException(e);
              }
            });
    recorder.offer(event(0));
    until(() -> recorder.thread().getState() == Thread.State.WAITING);
    assertTimeoutPreemptively(
        Duration.ofSeconds(10),
        () -> {
          for (int i = 0; i < 10_000; i++) {
            recorder.offer(event(i));
          }
        });
    assertEquals(10_000 - 64, recorder.droppedCount());
    assertTimeoutPreemptively(Duration.ofSeconds(10), recorder::finish);
    stuck.countDown();
  }

  @Test
  void aDeadWriterIsSurvived() throws InterruptedException {
    Recorder recorder =
        started(
            bytes -> {
              throw new AssertionError("the writer dies of this");
            });
    recorder.thread().setUncaughtExceptionHandler((thread, error) -> {});
    recorder.offer(event(0));
    recorder.thread().join(10_000);
    assertFalse(recorder.thread().isAlive());
    assertFalse(recorder.offer(event(1)));
    assertTimeoutPreemptively(Duration.ofSeconds(10), recorder::finish);
    assertEquals(1, recorder.droppedCount());
  }

  @Test
  void whoTheRecordsAreOfIsTakenToTheLast() {
    Recorder recorder = started(written::write);
    assertFalse(recorder.isFull());
    recorder.takeNoMore();
    assertTrue(recorder.isFull());
    assertFalse(recorder.offer(event(1)));
    recorder.finish();
    recorder.resume();
    assertTrue(recorder.offer(new ProcessFacts("driver", "driver", Map.of("app_id", "app-2"))));
    recorder.error("place", "failed");
    recorder.finish();
    assertTrue(lines("task").isEmpty());
    assertTrue(lines("process").get(0).contains("\"app_id\":\"app-2\""));
    assertTrue(lines("error").get(0).contains("\"count\":1,\"mono_ns\":"), lines("error").get(0));
    assertTrue(lines("drop").get(0).contains("\"kind\":\"task\",\"count\":1"));
  }

  @Test
  void errorsAreWrittenOnceAndCounted() {
    Recorder recorder = started(written::write);
    for (int i = 0; i < 3; i++) {
      recorder.error("place", new IOException("no; password=hunter22"));
    }
    recorder.finish();
    assertEquals(2, lines("error").size());
    assertTrue(lines("error").get(0).contains("\"where\":\"place\",\"message\":\"java.io"));
    assertTrue(
        lines("error").get(0).contains("; password=" + Secrets.REDACTED), lines("error").get(0));
    assertTrue(lines("error").get(1).contains("\"count\":3"));
  }
}
