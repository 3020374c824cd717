package org.pyrometer.plugin.codegen;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.LineFile;
import org.pyrometer.plugin.records.Recorder;
import org.pyrometer.plugin.records.Secrets;
import org.pyrometer.plugin.records.Sink;
import scala.Tuple2;
import scala.Tuple3;

class CodegenCaptureTest {
  private static final long NO_LIMIT = Long.MAX_VALUE;

  private final ByteArrayOutputStream file = new ByteArrayOutputStream();
  private final ConcurrentMap<Object, Object> entries = FakeGenerator.OfClass.ENTRIES;
  private long compilations;

  @BeforeEach
  void emptyTheCache() {
    entries.clear();
    FakeGenerator.OfInstance.ENTRIES.clear();
  }

  private CodegenCapture capture(Sink sink, long maxBytes, Callable<Class<?>> generator) {
    return new CodegenCapture(
        new LineFile(sink, failure -> {}), maxBytes, () -> compilations, generator);
  }

  private CodegenCapture capture(long maxBytes) {
    return capture(file::write, maxBytes, () -> FakeGenerator.OfClass.class);
  }

  /** A compilation, with the key that Spark 4.x makes. */
  private Object compile(String body) {
    Object key =
        new Tuple3<>("loader", "compiler", new CodeAndComment(body, Map.of("c_1", "// a\n\"b\"")));
    entries.put(key, new Tuple2<>("class", new Tuple3<>(660, 386, 0)));
    compilations++;
    return key;
  }

  private List<String> lines(String kind) {
    return file.toString(UTF_8)
        .lines()
        .filter(line -> line.startsWith("{\"k\":\"" + kind + "\""))
        .collect(Collectors.toList());
  }

  private String bye(CodegenCapture capture) {
    capture.finish();
    List<String> all = lines("bye");
    return all.isEmpty() ? "" : all.get(all.size() - 1);
  }

  @Test
  void aSourceIsWrittenWithItsCommentsAndSizes() {
    CodegenCapture capture = capture(NO_LIMIT);
    compile("/* c_1 */ int x;");
    capture.poll();
    String source = lines("source").get(0);
    assertTrue(source.startsWith("{\"k\":\"source\",\"n\":0,\"mono_ns\":"), source);
    assertTrue(
        source.endsWith(
            ",\"body\":\"/* c_1 */ int x;\",\"comments\":{\"c_1\":\"// a\\u000a\\\"b\\\"\"}"
                + ",\"max_method_bytes\":660,\"max_constants\":386,\"inner_classes\":0}"),
        source);
    assertTrue(bye(capture).contains("\"written\":1,\"dropped\":0,\"own_cpu_ns\":"));
  }

  @Test
  void secretsOfLiteralsAndCommentsAreStruckAndLinesKeepTheirNumbers() {
    CodegenCapture capture = capture(NO_LIMIT);
    String body = "token = isNull_0;\nf(\"ghp_" + "a1B2".repeat(9) + "\", \"a\\\"b\");\n";
    Map<String, String> comments = Map.of("c_2", "(password=\n'hunter\n22')\napiKey=hunter23");
    entries.put(
        new Tuple3<>("loader", "compiler", new CodeAndComment(body, comments)),
        new Tuple2<>("class", new Tuple3<>(1, 1, 0)));
    compilations++;
    capture.poll();
    String gone = Secrets.REDACTED;
    String source = lines("source").get(0);
    String kept =
        "\"body\":\"token = isNull_0;\\u000af(\\\"" + gone + "\\\", \\\"a\\\\\\\"b\\\");\\u000a\"";
    assertTrue(source.contains(kept), source);
    assertTrue(
        source.contains("(password=\\u000a" + gone + "\\u000a)\\u000aapiKey=" + gone + "\"}"),
        source);
  }

  @Test
  void spark35KeepsItInTheModuleAndMaySayNoSizes() {
    CodegenCapture capture = capture(file::write, NO_LIMIT, () -> FakeGenerator.OfInstance.class);
    FakeGenerator.OfInstance.ENTRIES.put(
        new Tuple2<>("loader", new CodeAndComment("a", Map.of())), "class");
    FakeGenerator.OfInstance.ENTRIES.put(new CodeAndComment("b", Map.of()), "class");
    compilations = 2;
    capture.poll();
    assertEquals(2, lines("source").size());
    assertTrue(
        lines("source")
            .get(0)
            .endsWith(
                "\"max_method_bytes\":null,\"max_constants\":null," + "\"inner_classes\":null}"));
  }

  @Test
  void eachTextIsWrittenOnceHoweverOftenItIsCompiled() {
    CodegenCapture capture = capture(NO_LIMIT);
    entries.remove(compile("a"));
    compile("a");
    compile("b");
    capture.poll();
    capture.poll();
    compile("b");
    assertTrue(bye(capture).contains("\"written\":2,"));
    assertEquals(2, lines("source").size());
  }

  @Test
  void beforeTheFirstCompilationTheGeneratorIsLeftAlone() {
    CodegenCapture capture =
        capture(
            file::write,
            NO_LIMIT,
            () -> {
              throw new AssertionError("this would load the class");
            });
    capture.poll();
    capture.finish();
    assertEquals(0, file.size());
  }

  @Test
  void whatIsBeyondTheLimitIsDroppedAndCounted() {
    CodegenCapture capture = capture(500);
    compile("x".repeat(300));
    capture.poll();
    compile("y".repeat(300));
    capture.poll();
    compile("y".repeat(300));
    compile("small");
    assertTrue(bye(capture).contains("\"written\":2,\"dropped\":1,"), bye(capture));
    assertEquals(List.of("{\"k\":\"drop\",\"kind\":\"source\",\"count\":1}"), lines("drop"));
  }

  @Test
  void whatLeftTheCacheUnseenIsCounted() {
    CodegenCapture capture = capture(NO_LIMIT);
    compile("a");
    entries.remove(compile("b"));
    entries.remove(compile("c"));
    capture.poll();
    assertEquals(List.of(), lines("drop"), "a compilation is counted before its entry exists");
    capture.poll();
    assertEquals(List.of("{\"k\":\"drop\",\"kind\":\"evicted\",\"count\":2}"), lines("drop"));
    compile("d");
    capture.poll();
    assertTrue(bye(capture).contains("\"written\":2,\"dropped\":2,"), bye(capture));
  }

  @Test
  void anEntryThatComesAMomentLateIsNoLoss() {
    CodegenCapture capture = capture(NO_LIMIT);
    compilations = 1;
    capture.poll();
    compilations = 0;
    compile("a");
    capture.poll();
    assertTrue(bye(capture).contains("\"written\":1,\"dropped\":0,"));
  }

  @Test
  void aSparkThatIsNotKnownIsSaidOnce() {
    CodegenCapture capture = capture(file::write, NO_LIMIT, () -> String.class);
    compilations = 3;
    capture.poll();
    capture.poll();
    String error = "\"message\":\"java.lang.NoSuchFieldException: java.lang.String has no field";
    assertEquals(1, lines("error").size());
    assertTrue(lines("error").get(0).contains(error), lines("error").get(0));
    assertTrue(bye(capture).contains("\"written\":0,"));
  }

  @Test
  void aKeyThatIsNotKnownCostsOnlyItself() {
    CodegenCapture capture = capture(NO_LIMIT);
    entries.put("nonsense", "class");
    compilations++;
    compile("a");
    assertTrue(bye(capture).contains("\"written\":1,\"dropped\":1,"), bye(capture));
    assertEquals(1, lines("error").size());
  }

  /** A disk that takes three bytes of a line while it is full. */
  private Sink disk(AtomicBoolean full) {
    return bytes -> {
      if (full.get()) {
        file.write(bytes, 0, 3);
        throw new IOException("No space left on device");
      }
      file.write(bytes);
    };
  }

  @Test
  void aFullDiskLosesSourcesCountsThemAndRecovers() throws InterruptedException {
    AtomicBoolean full = new AtomicBoolean(true);
    CodegenCapture capture = capture(disk(full), NO_LIMIT, () -> FakeGenerator.OfClass.class);
    compile("a");
    capture.poll();
    full.set(false);
    Thread.sleep(1_050);
    // The lost text is compiled again, as after an eviction.
    compile("a");
    capture.poll();
    // The half line does not swallow the one after it.
    assertTrue(file.toString(UTF_8).startsWith("{\"k\n{\"k\":\"source\",\"n\":0,"));
    assertTrue(bye(capture).contains("\"written\":1,\"dropped\":1,"), bye(capture));
  }

  @Test
  void whatAFullDiskDidNotTakeLeavesTheLimitAsItWas() throws InterruptedException {
    AtomicBoolean full = new AtomicBoolean(true);
    CodegenCapture capture = capture(disk(full), 500, () -> FakeGenerator.OfClass.class);
    compile("x".repeat(300));
    capture.poll();
    full.set(false);
    Thread.sleep(1_050);
    compile("y".repeat(300));
    capture.poll();
    assertTrue(bye(capture).contains("\"written\":1,\"dropped\":1,"), bye(capture));
    assertEquals(List.of("{\"k\":\"drop\",\"kind\":\"write\",\"count\":1}"), lines("drop"));
  }

  @Test
  void theFileIsMadeWithItsFolderOnceThereIsSomethingToSay(@TempDir Path folder)
      throws IOException {
    Path path = folder.resolve("codegen").resolve("codegen-x.ndjson");
    CodegenCapture capture =
        capture(Sink.laterFile(path), NO_LIMIT, () -> FakeGenerator.OfClass.class);
    capture.poll();
    capture.finish();
    assertFalse(Files.exists(path.getParent()));
    compile("a");
    capture.poll();
    assertEquals(1, Files.readAllLines(path).size(), "it is on disk before any farewell");
  }

  @Test
  void theWritersThreadLooksAndSaysBye() {
    CodegenCapture capture = capture(NO_LIMIT);
    ByteArrayOutputStream records = new ByteArrayOutputStream();
    Recorder recorder =
        new Recorder(
            records::write,
            Settings.of(Map.of("codegen.interval.ms", "3600000", "mx.interval.ms", "0")));
    recorder.watch(capture);
    recorder.start();
    compile("a");
    recorder.finish();
    assertEquals(1, lines("source").size());
    assertEquals(1, lines("bye").size());
    recorder.finish();
    assertEquals(1, lines("bye").size(), "nothing happened since");
    recorder.resume();
    compile("b");
    recorder.finish();
    assertTrue(lines("bye").get(1).contains("\"written\":2,"));
    long own = number(lines("bye").get(1), "own_cpu_ns");
    long all = number(records.toString(UTF_8), "own_cpu_ns");
    assertTrue(0 < own && own <= all, own + " of " + all);
  }

  private static long number(String line, String name) {
    String after = line.substring(line.lastIndexOf("\"" + name + "\":") + name.length() + 3);
    return Long.parseLong(after.split("[,}]")[0]);
  }
}
