package org.pyrometer.plugin.ship;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.host.Tree;

class HostAgentTest {
  /** Writes what it was given and how it lies there, then the report that says that it ships. */
  private static final String STAND_IN =
      "#!/bin/sh\n"
          + "for word; do case $word in --raw-dir=*) raw=${word#*=};; esac; done\n"
          + "stat -c '%a %F' \"$0\" \"${0%/*}\" > \"$raw/modes\"\n"
          + "printf '%s\\n' \"$@\" > \"$raw/arguments\"\n"
          + "(sleep 0.1; : > \"$raw/agent-h.report.json\") &\n";

  @TempDir Path base;
  private Path folder;
  private Path store;

  @BeforeEach
  void folders() throws IOException {
    folder = Files.createDirectory(base.resolve("raw"));
    store = Files.createDirectory(base.resolve("sto re"));
  }

  @Test
  void itIsGivenWhoseFolderItIsAndItsProgramsAreOursAlone() throws Exception {
    String app = "../$(id) --to='x'\n*";
    agent(Map.of(), always(STAND_IN)).start(folder, app, "-3");
    String arguments = Files.readString(folder.resolve("arguments"));
    assertTrue(arguments.startsWith("ship\n--detach\n--free\n--remove\n"), arguments);
    assertTrue(arguments.contains("\n--to=" + store + "\n"), arguments);
    assertTrue(arguments.contains("\n--app=" + app + "\n--executor=-3\n"), arguments);
    assertTrue(arguments.contains("--until-pid=" + ProcessHandle.current().pid()), arguments);
    assertTrue(arguments.contains("\n--probe=" + folder), arguments);
    assertEquals(
        List.of("700 regular file", "700 directory"), Files.readAllLines(folder.resolve("modes")));
    assertTrue(Files.exists(folder.resolve("agent-h.report.json")), "it ships when we return");
    assertEquals(0, programs(folder), "what runs needs its file no more");
  }

  @Test
  void nobodyIsRecordedTwice() throws Exception {
    agent(Map.of(Tree.KEY, Tree.name()), always(STAND_IN)).start(folder, "a", "1");
    assertFalse(Files.readString(folder.resolve("arguments")).contains("--probe"));
    Files.delete(folder.resolve("agent-h.report.json"));
    agent(Map.of(Tree.KEY, "another/host/1"), always(STAND_IN)).start(folder, "a", "1");
    assertTrue(Files.readString(folder.resolve("arguments")).contains("--probe"));
    Files.delete(folder.resolve("agent-h.report.json"));
    agent(Map.of("ship.probe", "off"), always(STAND_IN)).start(folder, "a", "1");
    assertFalse(Files.readString(folder.resolve("arguments")).contains("--probe"));
  }

  @Test
  void countersOfThreadsAreThoseThatWereAskedFor() throws Exception {
    agent(Map.of(), always(STAND_IN)).start(folder, "a", "1");
    String arguments = Files.readString(folder.resolve("arguments"));
    assertTrue(arguments.contains("\n--thread-counters=none\n"), arguments);
    Files.delete(folder.resolve("agent-h.report.json"));
    agent(Map.of("ship.counters", "hardware"), always(STAND_IN)).start(folder, "a", "1");
    arguments = Files.readString(folder.resolve("arguments"));
    assertTrue(arguments.contains("\n--thread-counters=hardware\n"), arguments);
    Files.delete(folder.resolve("agent-h.report.json"));
    Map<String, String> unprobed = Map.of("ship.counters", "hardware", "ship.probe", "off");
    agent(unprobed, always(STAND_IN)).start(folder, "a", "1");
    assertFalse(Files.readString(folder.resolve("arguments")).contains("--thread-counters"));
  }

  /** What an agent with this number says of itself; {@code $$} makes it unlike all others. */
  private static String standIn(long pid) {
    String report = "{\\\"agent_pid\\\":" + pid + ",\\\"recorder\\\":{\\\"pid\\\":$$}}";
    String written = "echo \"" + report + "\" > \"$raw/.report\"; mv \"$raw/.report\"";
    return STAND_IN.replace(": >", written);
  }

  @Test
  void whereItWasKilledAnotherGoesOnWithARecorderWhereThereWasOne() throws Exception {
    for (boolean probed : List.of(true, false)) {
      Process living = new ProcessBuilder("sleep", "600").start();
      Map<String, String> asked = Map.of("ship.probe", probed ? "on" : "off");
      HostAgent agent = agent(asked, always(standIn(living.pid())));
      assertFalse(agent.startAgainIfGone(folder, "a", "1", true), "it has not been started");
      agent.start(folder, "a", "1");
      assertFalse(agent.startAgainIfGone(folder, "a", "1", true), "it is there");
      living.destroyForcibly().waitFor();
      assertTrue(agent.startAgainIfGone(folder, "a", "1", true));
      String arguments = Files.readString(folder.resolve("arguments"));
      assertTrue(arguments.contains("--executor=1\n"), arguments);
      assertEquals(probed, arguments.contains("--probe"), arguments);
      assertTrue(agent.startAgainIfGone(folder, "a", "1", false), "nothing of it runs");
      arguments = Files.readString(folder.resolve("arguments"));
      assertFalse(arguments.contains("--probe"), "there is little left to record");
      assertEquals(0, programs(folder));
      Files.delete(folder.resolve("agent-h.report.json"));
    }
  }

  @Test
  void oneThatNobodyWaitedForIsGone() throws Exception {
    Process parent = new ProcessBuilder("sh", "-c", "sleep 600 & echo $!; exec sleep 600").start();
    long pid = Long.parseLong(parent.inputReader().readLine());
    HostAgent agent = agent(Map.of(), always(standIn(pid)));
    agent.start(folder, "a", "1");
    assertFalse(agent.isGone());
    ProcessHandle.of(pid).orElseThrow().destroyForcibly();
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          while (!agent.isGone()) {
            Thread.sleep(5);
          }
        });
    assertTrue(ProcessHandle.of(pid).isPresent(), "as a zombie");
    parent.destroyForcibly().waitFor();
  }

  @Test
  void whatCannotBeginSaysWhy() {
    assertTrue(refused(Map.of(), name -> null).contains("there is no pyro-agent for linux-"));
    String ends = "#!/bin/sh\necho no such store >&2\nexit 1\n";
    String said = refused(Map.of(), always(ends));
    assertTrue(said.contains("code 1") && said.contains("no such store"), said);
    String later = "#!/bin/sh\n(sleep 0.1; echo too late >&2) &\n";
    assertEquals("too late", refused(Map.of(), always(later)));
    String missing = base.resolve("none").toString();
    said = refused(Map.of("ship.to", "file://" + missing), always(STAND_IN));
    assertTrue(said.contains("cannot write to " + missing), said);
    assertFalse(Files.exists(folder.resolve("arguments")));
  }

  @Test
  void whereNoProgramMayRunAnotherFolderIsTried() throws Exception {
    // An interpreter that may not be run is refused as a program on such a file system is.
    Deque<String> texts = new ArrayDeque<>(List.of("#!/etc/passwd\n", "", STAND_IN, ""));
    agent(Map.of(), name -> stream(texts.remove())).start(folder, "a", "1");
    String arguments = Files.readString(folder.resolve("arguments"));
    assertTrue(arguments.contains("\n--probe=" + Path.of("").toAbsolutePath()), arguments);
    assertEquals(0, programs(folder) + programs(Path.of("").toAbsolutePath()));
    String said = refused(Map.of(), always("#!/etc/passwd\n"));
    assertTrue(HostAgent.hasNumber(said, 13), said);
  }

  @Test
  void theSystemsErrorIsKnownInTheWordsOfEachJava() {
    String old = "Cannot run program \"/a\": error=13, Permission denied";
    String since25 = "Cannot run program \"/a\": Exec failed, error: 13 (Permission denied)";
    for (String message : List.of(old, since25)) {
      assertTrue(HostAgent.hasNumber(message, 13), message);
      assertTrue(HostAgent.hasNumber(message.replace("13", "26"), 26), message);
      assertFalse(HostAgent.hasNumber(message, 26), message);
      assertFalse(HostAgent.hasNumber(message.replace("13", "133"), 13), message);
    }
  }

  @Test
  void linksAreNotFollowed() throws IOException {
    Path victim = Files.writeString(base.resolve("victim"), "precious");
    Path link = Files.createSymbolicLink(base.resolve("link"), victim);
    InputStream content = stream("other");
    assertThrows(FileAlreadyExistsException.class, () -> PrivateFolder.program(link, content));
    assertEquals("precious", Files.readString(victim));
    Path made = PrivateFolder.create("../../a b", "x/".repeat(200), null);
    assertEquals(Path.of(System.getProperty("java.io.tmpdir")), made.getParent());
    assertTrue(Files.getPosixFilePermissions(made).size() == 3, made.toString());
    Files.delete(made);
  }

  @Test
  void whereTheFolderForTemporaryFilesIsReadOnlySparksAreTried() throws IOException {
    String missing = base.resolve("none").toString();
    Path made = PrivateFolder.first(List.of(missing, "a\0", store.toString(), "/proc"), "ours-");
    assertEquals(store, made.getParent());
    assertEquals(3, Files.getPosixFilePermissions(made).size(), made.toString());
    IOException refused =
        assertThrows(IOException.class, () -> PrivateFolder.first(List.of(missing), "ours-"));
    assertTrue(refused.getMessage().contains(missing), refused.getMessage());
  }

  @Test
  void whatWaitsForTheStoreIsBounded() throws Exception {
    for (Map.Entry<String, String> asked :
        Map.of("", "256", "64", "64", "0", "1", "9999999", "1048576").entrySet()) {
      Files.deleteIfExists(folder.resolve("agent-h.report.json"));
      agent(Map.of("ship.spool.mib", asked.getKey()), always(STAND_IN)).start(folder, "a", "1");
      String arguments = Files.readString(folder.resolve("arguments"));
      assertTrue(arguments.contains("\n--spool-mib=" + asked.getValue() + "\n"), arguments);
    }
  }

  @Test
  void theDriverDecidesWhereTo() {
    Map<String, String> launched = Map.of("ship.cluster.to", "/run", "raw.dir", "/r");
    assertEquals(null, decided(launched, Map.of(), "local[2]").get("ship.to"));
    assertEquals(null, decided(launched, Map.of(), "local-cluster[1,1,1]").get("ship.to"));
    Map<String, String> asking = Map.of("ship.to", "/x");
    assertEquals(null, decided(launched, asking, "local[2]").get("ship.to"), "it has no executors");
    assertEquals("/run", decided(launched, Map.of(), "spark://h:7077").get("ship.to"));
    assertEquals("/run", decided(launched, Map.of("ship.to", ""), "yarn").get("ship.to"));
    Map<String, String> asked = Map.of("ship.to", "s3://b/p", "ship.probe", "off", "tasks", "off");
    Map<String, String> handed = decided(launched, asked, "local-cluster[1,1,1]");
    assertEquals(Map.of("ship.to", "s3://b/p", "ship.probe", "off", "raw.dir", "/r"), handed);
    assertEquals(null, Destination.folder(handed.get("ship.to")));
    assertEquals("/x y", Destination.folder("file:///x y"));
  }

  @Test
  void executorsObeyTheirOwnApplicationWhereItSaysAnything() {
    Map<String, String> asked = Map.of("ship.to", "/x", "ship.driver", "on", "tasks", "off");
    assertTrue(Destination.obeys("ship.to", asked));
    assertFalse(Destination.obeys("ship.probe", asked), "it says nothing of that");
    assertFalse(Destination.obeys("ship.driver", asked), "that is not for executors");
    assertFalse(Destination.obeys("tasks", asked));
  }

  private static Map<String, String> decided(
      Map<String, String> launched, Map<String, String> asked, String master) {
    Map<String, String> handed = new HashMap<>(launched);
    assertEquals(Destination.decide(handed, asked, master), handed.get("ship.to"));
    assertFalse(handed.containsKey("ship.cluster.to"));
    return handed;
  }

  private String refused(Map<String, String> more, Function<String, InputStream> programs) {
    IOException failure =
        assertThrows(IOException.class, () -> agent(more, programs).start(folder, "a", "1"));
    return failure.getMessage();
  }

  private HostAgent agent(Map<String, String> more, Function<String, InputStream> programs) {
    Map<String, String> settings = new HashMap<>(Map.of("ship.to", store.toString()));
    settings.putAll(more);
    return new HostAgent(Settings.of(settings), null, programs);
  }

  private static Function<String, InputStream> always(String text) {
    return name -> stream(text);
  }

  private static InputStream stream(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }

  private static long programs(Path place) throws IOException {
    try (Stream<Path> files = Files.list(place)) {
      return files.filter(file -> file.getFileName().toString().startsWith(".programs")).count();
    }
  }
}
