package org.pyrometer.plugin.ship;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.records.Recorder;
import org.pyrometer.plugin.ship.FaultyFiles.Fault;

class AgentBesideTest {
  /** Ships after a while. */
  private static final String SLOW =
      "#!/bin/sh\n"
          + "for word; do case $word in --raw-dir=*) raw=${word#*=};; esac; done\n"
          + "(sleep 1; : > \"$raw/agent-h.report.json\") &\n";

  @TempDir Path base;

  @Test
  void whoEndsSoonerThanItsAgentStartsWaitsForIt() throws IOException {
    Path raw = Files.createDirectory(base.resolve("raw"));
    Settings settings = Settings.of(Map.of("ship.to", base.toString()));
    HostAgent agent =
        new HostAgent(settings, null, name -> new ByteArrayInputStream(SLOW.getBytes(UTF_8)));
    List<String> failures = new CopyOnWriteArrayList<>();
    Recorder recorder = new Recorder(lines -> {}, settings);
    AgentBeside beside = beside(agent, raw, recorder, failures::add);
    beside.start();
    beside.end();
    assertEquals(List.of(), failures);
    // It ships, and its programs are gone.
    assertEquals(List.of(".agent.err", "agent-h.report.json"), names(raw));
  }

  @Test
  void anAgentThatIsStillBeingStartedAtTheEndIsNotSaidToBeGone() throws IOException {
    Path raw = Files.createDirectory(base.resolve("raw"));
    Settings settings = Settings.of(Map.of("ship.to", base.toString()));
    CountDownLatch released = new CountDownLatch(1);
    HostAgent agent = new HostAgent(settings, null, name -> noneAfter(released));
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    Recorder recorder = new Recorder(written::write, settings);
    recorder.start();
    AgentBeside beside = beside(agent, raw, recorder, failure -> {});
    beside.start();
    beside.end();
    recorder.finish();
    released.countDown();
    String records = written.toString(UTF_8);
    assertTrue(records.contains("\"where\":\"agent_start\""), records);
    assertFalse(records.contains("agent_gone"), records);
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          while (!names(raw).isEmpty()) {
            Thread.sleep(5);
          }
        });
  }

  /** Says who it is, and gives what it is asked for by the end. */
  private static String living(String settles) {
    return SLOW.replace(
        "(sleep 1; : > \"$raw/agent-h.report.json\")",
        "(echo \"{\\\"agent_pid\\\":$$}\" > \"$raw/.r\"; mv \"$raw/.r\" \"$raw/agent-h.report.json\""
            + settles
            + ")");
  }

  @Test
  void atTheEndAllHasArrived() throws Exception {
    // The report names this process: it is there for as long as anybody waits.
    String pid = String.valueOf(ProcessHandle.current().pid());
    String settles =
        "; while ! [ -e \"$raw/.hurry\" ]; do sleep 0.02; done; : > \"$raw/.all\"; rm \"$raw/.hurry\"";
    for (boolean ever : List.of(true, false)) {
      Path raw = Files.createDirectory(base.resolve("raw" + ever));
      Settings settings = Settings.of(Map.of("ship.to", base.toString()));
      String text = living(ever ? settles : "").replace("$$", pid);
      HostAgent agent =
          new HostAgent(settings, null, name -> new ByteArrayInputStream(text.getBytes(UTF_8)));
      AgentBeside beside = beside(agent, raw, new Recorder(lines -> {}, settings), failure -> {});
      beside.settle();
      assertFalse(Files.exists(raw.resolve(".hurry")), "nobody ships yet");
      beside.start();
      beside.end();
      // Where the agent does not answer this returns all the same.
      beside.settle();
      assertEquals(ever, Files.exists(raw.resolve(".all")));
      assertEquals(!ever, Files.exists(raw.resolve(".hurry")));
    }
  }

  @Test
  void aJvmThatTakesTheWayToTheStoreWithItEndsItsAgentAndWaitsForAFileSystemOnlySoLong()
      throws Exception {
    String pid = String.valueOf(ProcessHandle.current().pid());
    // What an agent does: it has its last chunk put, and is done.
    String ends =
        "; printf '%s\\n' \"$@\" > \"$raw/arguments\"; cd \"$raw/.relay\""
            + "; printf 'a/000000000000.chunk\\nx' > 1; mv 1 1.chunk"
            + "; while [ -e ../arguments ] && { ! [ -e ../.end ] || [ -e 1.chunk ]; }"
            + "; do sleep 0.02; done; rm ../.end";
    for (Fault fault : List.of(Fault.NONE, Fault.HANGS_FOR_GOOD)) {
      Path raw = Files.createDirectory(base.resolve("raw" + fault));
      Path store = base.resolve("store" + fault);
      Settings settings = Settings.of(Map.of("ship.to", "pyro://" + store));
      Recorder recorder = new Recorder(lines -> {}, settings);
      Relay relay =
          Relay.to(
              "pyro://" + store, raw, FaultyFiles::client, recorder, said -> {}, Long.MAX_VALUE);
      String text = living(ends).replace("$$", pid);
      HostAgent agent =
          new HostAgent(settings, relay, name -> new ByteArrayInputStream(text.getBytes(UTF_8)));
      FaultyFiles.plan(fault, 1);
      AgentBeside beside = beside(agent, raw, recorder, failure -> {});
      beside.start();
      beside.end();
      assertTimeoutPreemptively(Duration.ofSeconds(20), beside::finish);
      assertEquals(fault == Fault.NONE, Files.exists(store.resolve("a/000000000000.chunk")));
      assertEquals(fault != Fault.NONE, Files.exists(raw.resolve(".end")));
      String arguments = Files.readString(raw.resolve("arguments"));
      assertTrue(arguments.contains("\n--to=relay://" + raw.resolve(".relay") + "\n"), arguments);
      assertTrue(arguments.contains("\n--every=10\n"), arguments);
      if (fault != Fault.NONE) {
        Files.delete(raw.resolve(".end"));
        beside.finish();
        assertFalse(Files.exists(raw.resolve(".end")), "it is not waited for again");
        FaultyFiles.plan(Fault.NONE, 0);
        Path end = Files.write(raw.resolve(".end"), new byte[0]);
        Path chunk = store.resolve("a/000000000000.chunk");
        assertTimeoutPreemptively(
            Duration.ofSeconds(20),
            () -> {
              while (Files.exists(end) || !Files.exists(chunk)) {
                Thread.sleep(5);
              }
            });
      }
    }
  }

  private static AgentBeside beside(
      HostAgent agent, Path raw, Recorder recorder, Consumer<String> failures) {
    Kept kept = new Kept(raw, Settings.of(Map.of()), recorder, () -> {});
    return new AgentBeside(agent, raw, recorder, "app-1", "3", failures, kept);
  }

  private static InputStream noneAfter(CountDownLatch released) {
    try {
      released.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return null;
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).sorted().collect(Collectors.toList());
    }
  }
}
