package org.pyrometer.plugin.ship;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileSystem;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Recorder;
import org.pyrometer.plugin.ship.FaultyFiles.Fault;

@Timeout(60)
class RelayTest {
  private static final long SOON_NS = 200_000_000;
  private static final long LATE_NS = 60_000_000_000L;

  @TempDir Path base;
  private Path raw;
  private Path store;
  private int handed;
  private final ByteArrayOutputStream records = new ByteArrayOutputStream();
  private final List<String> unwritten = new CopyOnWriteArrayList<>();
  private Recorder recorder;

  @BeforeEach
  void folders() throws IOException {
    raw = Files.createDirectory(base.resolve("raw"));
    store = base.resolve("store");
    FaultyFiles.plan(Fault.NONE, 0);
    recorder = new Recorder(records::write, Settings.of(Map.of("mx.interval.ms", "0")));
    recorder.start();
  }

  @AfterEach
  void nothingHangs() throws InterruptedException {
    FaultyFiles.plan(Fault.NONE, 0);
    // What hung before goes on, and writes where the folder is about to be deleted.
    while (isPutting()) {
      Thread.sleep(5);
    }
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void whateverFailsAllArrivesOnceAndUnchanged(Fault fault) throws Exception {
    boolean hangs = fault == Fault.HANGS || fault == Fault.HANGS_FOR_GOOD;
    assertNull(relay("pyro://" + store, hangs ? SOON_NS : LATE_NS).begin());
    Map<String, byte[]> chunks = chunks(6);
    FaultyFiles.plan(fault, 3);
    List<String> failures = ship(chunks);
    // A rename that is refused once is done once more.
    if (fault != Fault.RENAME_REFUSED) {
      assertEquals(fault == Fault.NONE, failures.isEmpty(), failures::toString);
    }
    assertArrived(chunks);
    try (Stream<Path> files = Files.walk(store)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        String rights = PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
        assertEquals(Files.isDirectory(file) ? "rwx------" : "rw-------", rights, file::toString);
      }
    }
    assertEquals(List.of(), names(raw.resolve(RelayFolder.NAME)));
  }

  @Test
  void anObjectStoreTakesEachChunkUnderItsNameAtOnce() throws Exception {
    FaultyFiles.plan(Fault.RENAME_REFUSED, 1_000);
    Map<String, byte[]> chunks = chunks(3);
    // Hadoop calls it s3a, whatever others call it.
    assertNull(relay("s3://bucket" + store).begin());
    assertEquals(List.of(), ship(chunks));
    assertArrived(chunks);
  }

  @Test
  void attemptsThatHangTakeAFewThreadsAndNeverMore() throws Exception {
    long before = puttingThreads();
    assertNull(relay("pyro://" + store, SOON_NS).begin());
    FaultyFiles.plan(Fault.HANGS_FOR_GOOD, 1_000);
    List<String> failures = new ArrayList<>();
    while (failures.stream().noneMatch(said -> said.startsWith("nothing more is put"))) {
      for (Path left : leave(chunks(Relay.AT_ONCE))) {
        answer(left, failures);
      }
    }
    assertTrue(failures.get(0).startsWith("no answer from pyro://"), failures::toString);
    long threads = puttingThreads() - before;
    assertTrue(threads <= Relay.AT_ONCE + Relay.MOST_STUCK, () -> threads + " threads");
    FaultyFiles.plan(Fault.NONE, 0);
    // What hung before arrives late, and is the same.
    Map<String, byte[]> chunks = chunks(9);
    ship(chunks);
    while (!digests(chunks).equals(found())) {
      Thread.sleep(5);
    }
    recorder.finish();
    assertTrue(records.toString(UTF_8).contains("\"where\":\"relay_hangs\""));
  }

  @Test
  void wherePutsFailFromTheBeginningThatIsSaidOnce() throws Exception {
    assertNull(relay("pyro://" + store).begin());
    ship(Map.of("app-1/1/a/h/0.log/000000000000.chunk", new byte[0]));
    FaultyFiles.plan(Fault.FULL, 9);
    ship(chunks(1));
    assertEquals(List.of(), unwritten, "it was written before");
    raw = Files.createDirectory(base.resolve("other"));
    assertNull(relay("pyro://" + store).begin());
    FaultyFiles.plan(Fault.FULL, 9);
    ship(chunks(1));
    assertEquals(1, unwritten.size(), unwritten::toString);
    String said = unwritten.get(0);
    assertTrue(said.startsWith("cannot write to pyro://" + store + ": java.io."), said);
    assertTrue(said.endsWith(": no space left"), said);
  }

  @Test
  void aFileSystemThatTheApplicationClosedIsOpenedAnew() throws Exception {
    assertNull(relay("pyro://" + store).begin());
    Map<String, byte[]> chunks = chunks(4);
    Map<String, byte[]> first = Map.of("app-1/1/a/h/0.log/000000000000.chunk", new byte[0]);
    ship(first);
    int opened = FaultyFiles.OPENED.get();
    FileSystem.closeAll();
    ship(chunks);
    assertTrue(FaultyFiles.OPENED.get() > opened);
  }

  @Test
  void noSecretIsTold() throws Exception {
    Relay relay = relay("pyro://" + store);
    assertNull(relay.begin());
    FaultyFiles.plan(Fault.THROWS, 1);
    List<String> failures = ship(chunks(1));
    assertEquals(1, failures.size());
    String said = failures.get(0);
    assertTrue(said.startsWith("java.lang.IllegalStateException: no idea; password="), said);
    assertFalse(said.contains("hunter22") || said.contains("abcd"), said);
    recorder.finish();
    assertFalse(records.toString(UTF_8).contains("hunter22"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "s3a://key:hunter22@bucket/x",
        "s3a://hunter22@bucket/x",
        "pyro://host/x?token=hunter22",
        "abfss://container:hunter22@account.dfs.core.windows.net/x",
        "s3a://key:hunter22@[bucket/x",
      })
  void anAddressWithCredentialsIsRefusedAndNotRepeated(String place) {
    String why = relay(place).begin();
    assertTrue(why.contains("credentials") || why.contains("is no URL"), why);
    assertFalse(why.contains("hunter22"), why);
    assertFalse(Files.exists(raw.resolve(RelayFolder.NAME)));
  }

  @Test
  void whatHadoopHasNoClassForIsSaidWithWhatToDo() {
    String why = relay("abfss://container@account.dfs.core.windows.net/x").begin();
    assertTrue(why.contains("no file system for abfss:// here: put hadoop-azure on the"), why);
    assertTrue(relay("nonsense://x/y").begin().contains("put the jar that has it"));
    assertNull(relay("/mnt/shared"), "the agent writes there itself");
    assertNull(relay("file:///mnt/shared"));
  }

  @Test
  void whatIsNoChunkIsRefused() throws Exception {
    assertNull(relay("pyro://" + store).begin());
    for (String key :
        List.of("../x/000000000000.chunk", "a/000000000000.tmp", "/a/000000000000.chunk", "")) {
      List<String> failures = new ArrayList<>();
      answer(leave(key, "x".getBytes(UTF_8)), failures);
      assertEquals(List.of("what was handed over has not the name of a chunk"), failures, key);
    }
    assertFalse(Files.exists(store));
  }

  private Relay relay(String place) {
    return relay(place, LATE_NS);
  }

  private Relay relay(String place, long longestNs) {
    return Relay.to(place, raw, FaultyFiles::client, recorder, unwritten::add, longestNs);
  }

  private static Map<String, byte[]> chunks(int count) {
    Map<String, byte[]> chunks = new TreeMap<>();
    for (int i = 0; i < count; i++) {
      // With every byte, those of a new line among them.
      byte[] object = new byte[1_000 + i];
      for (int at = 0; at < object.length; at++) {
        object[at] = (byte) (at * 7 + i);
      }
      chunks.put("app-1/1/a%20b/h/" + i % 2 + ".log/" + String.format("%012d.chunk", i), object);
    }
    return chunks;
  }

  /** What an agent does: hands chunks over, some at once, until each has arrived. */
  private List<String> ship(Map<String, byte[]> chunks) throws Exception {
    List<String> failures = new ArrayList<>();
    Map<String, byte[]> left = new TreeMap<>(chunks);
    while (!left.isEmpty()) {
      Map<String, byte[]> some = new TreeMap<>();
      left.entrySet().stream()
          .limit(Relay.AT_ONCE)
          .forEach(one -> some.put(one.getKey(), one.getValue()));
      List<Path> handedOver = leave(some);
      int next = 0;
      for (String key : some.keySet()) {
        if (answer(handedOver.get(next++), failures)) {
          left.remove(key);
        }
      }
    }
    return failures;
  }

  private List<Path> leave(Map<String, byte[]> chunks) throws IOException {
    List<Path> left = new ArrayList<>();
    for (Map.Entry<String, byte[]> chunk : chunks.entrySet()) {
      left.add(leave(chunk.getKey(), chunk.getValue()));
    }
    return left;
  }

  private Path leave(String key, byte[] object) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.write((key + "\n").getBytes(UTF_8));
    all.write(object);
    Path folder = raw.resolve(RelayFolder.NAME);
    String name = String.format("7-%06d", handed++);
    Path whole = Files.write(folder.resolve(name + ".tmp"), all.toByteArray());
    return Files.move(whole, folder.resolve(name + ".chunk"), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Waits for the answer; whether it has arrived. */
  private static boolean answer(Path left, List<String> failures) throws Exception {
    while (Files.exists(left)) {
      Thread.sleep(1);
    }
    Path failed = Path.of(left.toString().replace(".chunk", ".failed"));
    if (!Files.exists(failed)) {
      return true;
    }
    failures.add(Files.readString(failed));
    Files.delete(failed);
    return false;
  }

  private void assertArrived(Map<String, byte[]> chunks) throws IOException {
    assertEquals(digests(chunks), found());
  }

  private static Map<String, String> digests(Map<String, byte[]> chunks) {
    Map<String, String> digests = new TreeMap<>();
    chunks.forEach((key, object) -> digests.put(key, digest(object)));
    return digests;
  }

  /** What is in the store; without what vanishes while it is looked for. */
  private Map<String, String> found() throws IOException {
    Map<String, String> found = new TreeMap<>();
    try (Stream<Path> files = Files.walk(store)) {
      for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
        found.put(store.relativize(file).toString(), digest(Files.readAllBytes(file)));
      }
    } catch (NoSuchFileException | UncheckedIOException e) {
      return Map.of();
    }
    return found;
  }

  private static String digest(byte[] object) {
    return object.length + " bytes, " + Arrays.hashCode(object);
  }

  /** Whether a thread is in the middle of a put, and does not wait for the next one. */
  private static boolean isPutting() {
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(thread -> thread.getKey().getName().equals("pyrometer-relay-put"))
        .flatMap(thread -> Stream.of(thread.getValue()))
        .anyMatch(frame -> frame.getClassName().startsWith("org.pyrometer.plugin.ship."));
  }

  private static long puttingThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("pyrometer-relay-put"))
        .count();
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }
}
