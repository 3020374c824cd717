package org.pyrometer.plugin.ship;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.host.Host;
import org.pyrometer.plugin.host.Tree;
import org.pyrometer.plugin.jvm.Folders;

/**
 * The program {@code pyro-agent} beside this JVM: it ships the folder of the records, and has this
 * process recorded by {@code pyro-probe}. Both come out of the jar and outlive the JVM.
 */
public final class HostAgent {
  private static final String NATIVES = "/org/pyrometer/natives/";

  private static final String DRIVER = "driver";
  private static final String AGENT = "pyro-agent";
  private static final String PROBE = "pyro-probe";

  /** Names with a dot in front are not shipped. */
  private static final String PROGRAMS = ".programs-";

  /** Which counters of threads the probe opens. */
  private static final String COUNTERS = "ship.counters";

  /** MiB that wait for the store at most. */
  private static final String SPOOL = "ship.spool.mib";

  private static final long SPOOL_MIB = 256;
  private static final long MOST_SPOOL_MIB = 1 << 20;

  /** Whoever is about to end leaves this name; the agent removes it once all has arrived. */
  private static final String HURRY = ".hurry";

  /** Whoever ends, and takes the way to the store with it, leaves this name. */
  private static final String END = ".end";

  /**
   * Seconds between rounds of one whose chunks are relayed: each chunk is a file of a cluster that
   * others use, too.
   */
  private static final String SELDOM = "10";

  private static final String SAID = ".agent.err";
  private static final int SAID_MOST = 400;
  private static final int BUSY_TRIES = 20;
  private static final long GLANCE_MS = 20;

  /** Longer than anybody is made to wait: until then a slow agent may still need its programs. */
  private static final long LONGEST_NS = 60_000_000_000L;

  private static final Pattern PID = Pattern.compile("\"agent_pid\":(\\d{1,10})\\b");

  private final Settings settings;
  private final Function<String, InputStream> programs;

  /** Puts what the agent cannot; null where it puts everything itself. */
  private final Relay relay;

  /** What ships; null until it does, or where it does not say. */
  private volatile ProcessHandle running;

  /** Whether the first one had a recorder. */
  private volatile boolean probed;

  /**
   * The one in the jar.
   *
   * @param settings where it ships to, and how
   * @param relay puts what it cannot put itself, or null
   */
  HostAgent(Settings settings, Relay relay) {
    this(
        settings,
        relay,
        name -> HostAgent.class.getResourceAsStream(NATIVES + platform() + "/" + name));
  }

  /** One whose programs come from elsewhere. */
  HostAgent(Settings settings, Relay relay, Function<String, InputStream> programs) {
    this.settings = settings;
    this.relay = relay;
    this.programs = programs;
  }

  /**
   * Starts it, and returns once it ships.
   *
   * @param folder what is shipped: private, and removed once all of it has arrived
   * @param application id of the application
   * @param executor id of the executor
   * @throws IOException if it does not; the message says why
   * @throws InterruptedException if the thread is asked to end
   */
  public synchronized void start(Path folder, String application, String executor)
      throws IOException, InterruptedException {
    String store = Destination.folder(settings.get(Destination.KEY, ""));
    if (store != null && !Folders.takes(store)) {
      throw new IOException("cannot write to " + store + " from this host");
    }
    probed = settings.isOn("ship.probe", true) && !Tree.holdsUs(settings.get(Tree.KEY, null));
    String unrelayed = relay == null ? null : relay.begin();
    try {
      start(folder, application, executor, probed);
    } catch (IOException e) {
      throw unrelayed == null ? e : new IOException(unrelayed + "; " + e.getMessage(), e);
    }
  }

  /** Whether it has begun to ship, and goes on. */
  boolean ships() {
    return running != null && !isGone();
  }

  /**
   * Has it ship what was written by now, without waiting for its next round, and waits for that.
   *
   * @throws IOException if it cannot be asked
   * @throws InterruptedException if the thread is asked to end
   */
  void settle(Path folder) throws IOException, InterruptedException {
    awaits(folder.resolve(HURRY));
  }

  /**
   * As the JVM ends. Where nothing can be put without it, the agent ends now, and this waits for
   * that; else it goes on, and this is {@link #settle}.
   *
   * @throws IOException if it cannot be asked
   * @throws InterruptedException if the thread is asked to end
   */
  void finish(Path folder) throws IOException, InterruptedException {
    awaits(folder.resolve(isRelayed() ? END : HURRY));
  }

  /** Has something done as the JVM ends, where nothing can be put without it. */
  void atExit(Runnable last) {
    if (relay != null) {
      relay.atExit(last);
    }
  }

  private void awaits(Path mark) throws IOException, InterruptedException {
    Files.write(mark, new byte[0]);
    while (Files.exists(mark) && ships()) {
      Thread.sleep(GLANCE_MS);
    }
  }

  /** Whether what it ships is put by this JVM. */
  private boolean isRelayed() {
    return relay != null && relay.address() != null;
  }

  /** Whether it has begun to ship, and is no more. */
  public boolean isGone() {
    ProcessHandle before = running;
    return before != null && (!before.isAlive() || Host.isZombie(before.pid()));
  }

  /**
   * Starts another one where it was killed, as when memory was short: it goes on where that ended.
   * Waits for a start that is under way.
   *
   * @param folder the same as before
   * @param application the same
   * @param executor the same
   * @param recorded whether what follows is recorded, where it was before
   * @return whether it was gone
   * @throws IOException if the other does not start
   * @throws InterruptedException if the thread is asked to end
   */
  public synchronized boolean startAgainIfGone(
      Path folder, String application, String executor, boolean recorded)
      throws IOException, InterruptedException {
    if (!isGone()) {
      return false;
    }
    start(folder, application, executor, recorded && probed);
    return true;
  }

  private void start(Path folder, String application, String executor, boolean probed)
      throws IOException, InterruptedException {
    try {
      start(folder, folder, application, executor, probed);
    } catch (RefusedException e) {
      // No program may be run from there: the working folder may be on another file system.
      start(Path.of(""), folder, application, executor, probed);
    }
  }

  private void start(Path place, Path folder, String application, String executor, boolean probed)
      throws IOException, InterruptedException {
    Path own = PrivateFolder.in(place, PROGRAMS);
    try {
      extract(own, AGENT);
      if (probed) {
        extract(own, PROBE);
      }
      List<String> command = command(own, folder, application, executor, probed);
      begun(command, folder);
    } finally {
      // What runs needs its file no more, and the agent has the probe's open.
      remove(own);
    }
  }

  private List<String> command(
      Path own, Path folder, String application, String executor, boolean probed) {
    List<String> command = new ArrayList<>();
    command.add(own.resolve(AGENT).toString());
    command.addAll(List.of("ship", "--detach", "--free", "--remove"));
    command.add("--to=" + (isRelayed() ? relay.address() : settings.get(Destination.KEY, "")));
    command.add("--app=" + application);
    command.add("--executor=" + executor);
    command.add("--host=" + Host.name());
    command.add("--raw-dir=" + folder);
    long spoolMib = Math.min(settings.number(SPOOL, SPOOL_MIB, 1), MOST_SPOOL_MIB);
    command.add("--spool-mib=" + spoolMib);
    command.add("--until-pid=" + ProcessHandle.current().pid());
    if (isRelayed()) {
      command.add("--every=" + SELDOM);
    } else if (executor.equals(DRIVER)) {
      // A pod may end with it, and nothing can be shipped after that.
      command.add("--every=1");
    }
    if (probed) {
      command.add("--probe=" + own.resolve(PROBE));
      command.add("--thread-counters=" + settings.get(COUNTERS, "none"));
    }
    return command;
  }

  private void begun(List<String> command, Path folder) throws IOException, InterruptedException {
    Path said = folder.resolve(SAID);
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.redirectInput(new File("/dev/null"));
    builder.redirectOutput(new File("/dev/null"));
    builder.redirectError(said.toFile());
    String before = report(folder);
    Process process = spawned(builder);
    int code = process.waitFor();
    long begun = System.nanoTime();
    while (code == 0 && Objects.equals(report(folder), before)) {
      if (System.nanoTime() - begun > LONGEST_NS) {
        throw new IOException("the agent was started and ships nothing");
      }
      String words = words(said);
      if (!words.isEmpty()) {
        throw new IOException(words);
      }
      Thread.sleep(GLANCE_MS);
    }
    if (code != 0) {
      throw new IOException("the agent ended with code " + code + ": " + words(said));
    }
    ProcessHandle told = told(report(folder));
    // One that is gone already leaves the one before it, which is gone as well.
    running = told == null ? running : told;
  }

  /** The process that a report names; null if it names none, or that is gone. */
  private static ProcessHandle told(String report) {
    Matcher pid = PID.matcher(report);
    return pid.find() ? ProcessHandle.of(Long.parseLong(pid.group(1))).orElse(null) : null;
  }

  private static Process spawned(ProcessBuilder builder) throws IOException, InterruptedException {
    for (int attempt = 1; ; attempt++) {
      try {
        return builder.start();
      } catch (IOException e) {
        String message = String.valueOf(e.getMessage());
        if (hasNumber(message, 13)) {
          throw new RefusedException(message, e);
        }
        // Another thread started a process while the program was still open for writing.
        if (!hasNumber(message, 26) || attempt == BUSY_TRIES) {
          throw e;
        }
        Thread.sleep(GLANCE_MS);
      }
    }
  }

  /** Whether the system's error has this number; since Java 25 the number stands differently. */
  static boolean hasNumber(String message, int number) {
    return Pattern.compile("\\berror(?:=|: )" + number + "\\b").matcher(message).find();
  }

  /** The agent's account of itself, which it writes in its first round; null until then. */
  private static String report(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      Optional<Path> report = files.filter(HostAgent::isReport).findFirst();
      return report.isPresent() ? Files.readString(report.get()) : null;
    }
  }

  private static boolean isReport(Path file) {
    String name = file.getFileName().toString();
    return name.startsWith("agent-") && name.endsWith(".report.json");
  }

  private static String words(Path said) throws IOException {
    byte[] bytes = Files.readAllBytes(said);
    int length = Math.min(bytes.length, SAID_MOST);
    return new String(bytes, 0, length, StandardCharsets.UTF_8).trim();
  }

  private void extract(Path own, String name) throws IOException {
    try (InputStream content = programs.apply(name)) {
      if (content == null) {
        throw new FileNotFoundException("there is no " + name + " for " + platform() + " here");
      }
      PrivateFolder.program(own.resolve(name), content);
    }
  }

  private static void remove(Path own) {
    for (String name : List.of(AGENT, PROBE, "")) {
      try {
        Files.deleteIfExists(own.resolve(name));
      } catch (IOException e) {
        // It goes with the folder around it.
        return;
      }
    }
  }

  private static String platform() {
    switch (System.getProperty("os.arch", "")) {
      case "amd64":
      case "x86_64":
        return "linux-x64";
      case "aarch64":
        return "linux-arm64";
      default:
        return System.getProperty("os.arch", "unknown");
    }
  }

  /** The system does not run the program from where it lies. */
  private static final class RefusedException extends IOException {
    private static final long serialVersionUID = 1;

    RefusedException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
