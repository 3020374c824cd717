package org.pyrometer.plugin.tasks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.host.Host;
import org.pyrometer.plugin.profiler.Profiler;
import org.pyrometer.plugin.records.Recorder;

class ContextsTest {
  private static final long PID = ProcessHandle.current().pid();

  @TempDir private Path folder;
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private Recorder recorder;
  private Contexts contexts;

  @BeforeEach
  void start() {
    Settings settings = Settings.of(Map.of("mx.interval.ms", "0", "clock.interval.ms", "0"));
    recorder = new Recorder(written::write, settings);
    recorder.start();
  }

  @AfterEach
  void end() {
    FakeTasks.leave();
    if (contexts != null) {
      contexts.remove();
    }
  }

  private Contexts contexts(int slots) {
    contexts =
        new Contexts(
            Settings.of(Map.of("context", "on", "context.slots", Integer.toString(slots))),
            folder,
            recorder);
    return contexts;
  }

  private Path file() {
    return folder.resolve("context-" + PID);
  }

  /** The header (0) or a slot, as the probe reads it. */
  private ByteBuffer record(int index) throws IOException {
    byte[] bytes = Files.readAllBytes(file());
    return ByteBuffer.wrap(Arrays.copyOfRange(bytes, index * 128, (index + 1) * 128))
        .order(ByteOrder.LITTLE_ENDIAN);
  }

  private String errors() {
    recorder.finish();
    return written.toString(UTF_8);
  }

  private static long inAnotherThread(Runnable work) throws InterruptedException {
    AtomicLong id = new AtomicLong();
    Thread thread =
        new Thread(
            () -> {
              id.set(Host.threadId());
              work.run();
            });
    thread.start();
    thread.join();
    return id.get();
  }

  @Test
  void aTaskIsReadableWhileItRuns() throws IOException {
    contexts(8);
    FakeTasks.enter(3, 1, 17, Map.of("pyrometer.iteration", "2", "spark.sql.execution.id", "5"));
    TaskTracker tracker =
        new TaskTracker(recorder, new Profiler(Settings.of(Map.of()), recorder), contexts);
    long before = System.nanoTime();
    tracker.started();
    ByteBuffer header = record(0);
    byte[] magic = new byte[8];
    header.get(magic);
    assertArrayEquals("PYROCTX\1".getBytes(UTF_8), magic);
    assertEquals(128, header.getInt(8));
    assertEquals(8, header.getInt(12));
    assertEquals(1, header.getInt(16));
    assertEquals(PID, header.getInt(20));
    assertTrue(header.getLong(32) <= before);
    ByteBuffer slot = record(1);
    assertEquals(0x54584350, slot.getInt(0));
    assertEquals(1, slot.getInt(4));
    assertEquals(0, slot.getLong(8) % 2);
    assertEquals(Host.threadId(), slot.getInt(16));
    assertEquals(1, slot.getInt(20));
    assertTrue(slot.getLong(24) >= before);
    assertEquals(17, slot.getLong(32));
    assertEquals(3, slot.getInt(40));
    assertEquals(1, slot.getInt(44));
    assertEquals(4, slot.getInt(48));
    assertEquals(0, slot.getInt(52));
    assertEquals(5, slot.getLong(56));
    assertEquals(2, slot.getLong(64));
    tracker.ended(false);
    assertEquals(0, record(1).getInt(20));
    assertEquals(slot.getLong(8) + 2, record(1).getLong(8));
  }

  @Test
  void aDriversThreadHasItsExecution() throws IOException {
    contexts(8).current().driver(77, 6, ContextSlot.UNKNOWN);
    ByteBuffer slot = record(1);
    assertEquals(2, slot.getInt(20));
    assertEquals(77, slot.getLong(24));
    assertEquals(-1, slot.getLong(32));
    assertEquals(-1, slot.getInt(40));
    assertEquals(6, slot.getLong(56));
    assertEquals(-1, slot.getLong(64));
  }

  @Test
  void theSlotOfADeadThreadIsAnothers() throws Exception {
    contexts(8).current();
    long first = inAnotherThread(() -> contexts.current().task(1, 1, 0, 0, 10, 0, -1, -1));
    assertEquals(first, record(2).getInt(16));
    long sequence = record(2).getLong(8);
    long second = inAnotherThread(() -> contexts.current().task(2, 1, 0, 0, 11, 0, -1, -1));
    assertNotEquals(first, second);
    ByteBuffer slot = record(2);
    assertEquals(second, slot.getInt(16));
    assertEquals(11, slot.getLong(32));
    assertTrue(slot.getLong(8) > sequence);
    assertEquals(2, record(0).getInt(16));
  }

  @Test
  void threadsTakeTheirSlotsAtOnceAndWaitForNobody() throws Exception {
    int count = 32;
    Contexts shared = contexts(count);
    CountDownLatch taken = new CountDownLatch(count);
    CountDownLatch seen = new CountDownLatch(1);
    Set<Long> ids = ConcurrentHashMap.newKeySet();
    Runnable work =
        () -> {
          shared.current().task(1, 1, 0, 0, Host.threadId(), 0, -1, -1);
          ids.add(Host.threadId());
          taken.countDown();
          awaitQuietly(seen);
        };
    Thread[] threads = new Thread[count];
    // Whoever holds the monitor holds up nobody.
    synchronized (shared) {
      for (int i = 0; i < count; i++) {
        threads[i] = new Thread(work);
        threads[i].start();
      }
      assertTrue(taken.await(60, TimeUnit.SECONDS));
    }
    assertEquals(count, record(0).getInt(16));
    Set<Long> found = new HashSet<>();
    for (int slot = 1; slot <= count; slot++) {
      assertEquals(record(slot).getInt(16), record(slot).getLong(32));
      found.add(record(slot).getLong(32));
    }
    assertEquals(ids, found);
    seen.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void threadsWithoutASlotAreCounted() throws Exception {
    contexts(1).current().task(1, 1, 0, 0, 10, 0, -1, -1);
    inAnotherThread(() -> contexts.current().task(2, 1, 0, 0, 11, 0, -1, -1));
    inAnotherThread(() -> contexts.current().idle());
    assertEquals(2, record(0).getLong(40));
    assertEquals(10, record(1).getLong(32));
    String said = errors();
    assertTrue(said.contains("\"where\":\"context_slots\""), said);
    assertTrue(said.contains("\"count\":2"), said);
  }

  @Test
  void aVirtualThreadDoesNotSpeakForTheOneThatItRunsOn() throws Exception {
    assumeTrue(Runtime.version().feature() >= 21, "this Java has no virtual threads");
    contexts(8);
    Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
    Runnable work = () -> contexts.current().driver(77, 6, ContextSlot.UNKNOWN);
    ((Thread) start.invoke(null, work)).join();
    assertEquals(0, record(0).getInt(16));
  }

  @Test
  void whatItWroteIsGoneAfterwards() throws IOException {
    contexts(4);
    Path target = file().toRealPath();
    assertTrue(Files.exists(target));
    contexts.remove();
    assertFalse(Files.exists(target));
    assertFalse(Files.isSymbolicLink(file()));
    contexts.current().task(1, 1, 0, 0, 10, 0, -1, -1);
    assertFalse(contexts.isOff());
  }

  @Test
  void aFileOfAnEarlierProcessIsReplaced() throws IOException {
    Files.writeString(file(), "old");
    contexts(4);
    assertEquals(5L * 128, Files.size(file()));
  }

  @Test
  void withoutAFolderItIsOffAndSaysSo() throws IOException {
    Path missing = folder.resolve("missing");
    Contexts none = new Contexts(Settings.of(Map.of("context", "on")), missing, recorder);
    assertTrue(none.isOff());
    assertSame(ContextSlot.NONE, none.current());
    none.current().task(1, 1, 0, 0, 10, 0, -1, -1);
    none.current().idle();
    assertTrue(errors().contains("\"where\":\"context\""));
    try (var files = Files.list(Path.of("/dev/shm"))) {
      assertEquals(0, files.filter(path -> path.toString().endsWith("context-" + PID)).count());
    }
  }

  @Test
  void afterAFailureNothingIsWritten() throws IOException {
    contexts(4).current().task(1, 1, 0, 0, 10, 0, -1, -1);
    contexts.fail(new IllegalStateException("for a test"));
    contexts.current().task(1, 1, 0, 0, 11, 0, -1, -1);
    assertEquals(10, record(1).getLong(32));
    assertTrue(errors().contains("for a test"));
  }

  @Test
  void numbersOfLocalPropertiesAreReadOrUnknown() {
    assertEquals(120, ContextSlot.number("120"));
    assertEquals(0, ContextSlot.number("0"));
    for (String text : new String[] {null, "", "-3", "1x", "9".repeat(19)}) {
      assertEquals(ContextSlot.UNKNOWN, ContextSlot.number(text));
    }
  }
}
