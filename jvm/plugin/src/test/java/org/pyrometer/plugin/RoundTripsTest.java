package org.pyrometer.plugin;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Recorder;

class RoundTripsTest {
  private static final Pattern PING =
      Pattern.compile(
          "\\{\"k\":\"ping\",\"sent_mono_ns\":(-?\\d+),\"driver_mono_ns\":(-?\\d+),"
              + "\"received_mono_ns\":(-?\\d+)}");

  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private final Recorder recorder =
      new Recorder(
          written::write,
          Settings.of(
              Map.of("mx.interval.ms", "0", "clock.interval.ms", "0", "flush.interval.ms", "5")));

  private List<String> lines(String kind) {
    return written
        .toString(UTF_8)
        .lines()
        .filter(line -> line.startsWith("{\"k\":\"" + kind + "\""))
        .collect(Collectors.toList());
  }

  /** Asks until so many were asked, and ends. */
  private void asked(int times, RoundTrips.Driver driver) {
    CountDownLatch left = new CountDownLatch(times);
    recorder.start();
    RoundTrips trips =
        new RoundTrips(
            question -> {
              left.countDown();
              return driver.ask(question);
            },
            recorder,
            1);
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          trips.start();
          left.await();
          trips.end();
          trips.thread().join();
          recorder.finish();
        });
  }

  @Test
  void theDriversTimeIsWrittenBetweenBothOfTheHost() {
    DriverComponent driver = new DriverComponent();
    asked(4, driver::receive);
    // The last one may have been interrupted.
    List<String> pings = lines("ping");
    assertTrue(pings.size() >= 3, pings.toString());
    long before = Long.MIN_VALUE;
    for (String ping : pings) {
      Matcher times = PING.matcher(ping);
      assertTrue(times.matches(), ping);
      // Both are of this JVM.
      assertTrue(before < Long.parseLong(times.group(1)), ping);
      assertTrue(Long.parseLong(times.group(1)) <= Long.parseLong(times.group(2)), ping);
      assertTrue(Long.parseLong(times.group(2)) <= Long.parseLong(times.group(3)), ping);
      before = Long.parseLong(times.group(3));
    }
    assertEquals(List.of(), lines("error"));
  }

  @Test
  void aDriverThatFailsIsAskedAgainAndNotedOnce() {
    AtomicInteger asked = new AtomicInteger();
    asked(
        5,
        question -> {
          int times = asked.incrementAndGet();
          if (times == 1) {
            throw new IllegalStateException("gone");
          }
          if (times == 3) {
            return 7L;
          }
          throw new StackOverflowError();
        });
    assertEquals(1, lines("ping").size());
    assertTrue(lines("error").get(0).contains("\"where\":\"ping\""), written.toString(UTF_8));
    assertTrue(lines("error").get(0).contains("gone"), written.toString(UTF_8));
    assertEquals(1, lines("error").stream().filter(line -> line.contains("\"count\":1,")).count());
  }

  @Test
  void anotherAnswerIsNoTime() {
    asked(2, question -> "what?");
    assertEquals(List.of(), lines("ping"));
    assertTrue(lines("error").get(0).contains("does not know"), written.toString(UTF_8));
  }

  @Test
  void anEndDoesNotWaitForAnAnswer() {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    recorder.start();
    RoundTrips trips =
        new RoundTrips(
            question -> {
              asked.countDown();
              never.await();
              return 1L;
            },
            recorder,
            1);
    assertTrue(trips.thread().isDaemon());
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          trips.start();
          asked.await();
          trips.end();
          trips.thread().join();
          recorder.finish();
        });
    assertEquals(List.of(), lines("ping"));
    assertEquals(List.of(), lines("error"));
    assertFalse(trips.thread().isAlive());
  }
}
