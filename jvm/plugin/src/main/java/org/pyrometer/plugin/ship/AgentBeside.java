package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.spark.SparkConf;
import org.pyrometer.plugin.host.Patience;
import org.pyrometer.plugin.jvm.Bounded;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.records.Recorder;

/**
 * The agent beside a JVM that ships what it records, for as long as that runs: nothing waits for
 * its start but the end of the JVM, and where it was killed another one goes on.
 */
public final class AgentBeside {
  private static final long LONGEST_MS = Patience.patient(2_000);

  private final HostAgent agent;
  private final Path folder;
  private final Recorder recorder;
  private final String application;
  private final String executor;
  private final Consumer<String> failures;
  private final Kept kept;

  /**
   * Whether it was waited for in vain last time: the end of the JVM need not take longer for it.
   */
  private volatile boolean slow;

  /** Starts the first agent; null before. */
  private volatile Thread starter;

  /**
   * One that is not started yet.
   *
   * @param jvm whose folder is shipped
   * @param conf settings of the application, Hadoop's among them
   * @param application id of the application
   * @param executor id of the executor; {@code driver} of the driver
   * @param failures takes why there is none: what was recorded stays on this host
   */
  public AgentBeside(
      Jvm jvm, SparkConf conf, String application, String executor, Consumer<String> failures) {
    this(
        new HostAgent(
            jvm.settings(),
            Relay.to(
                jvm.settings().get(Destination.KEY, ""),
                jvm.folder(),
                conf,
                jvm.recorder(),
                failures)),
        jvm.folder(),
        jvm.recorder(),
        application,
        executor,
        failures,
        new Kept(jvm));
  }

  /** The same of another agent, which ships a folder. */
  AgentBeside(
      HostAgent agent,
      Path folder,
      Recorder recorder,
      String application,
      String executor,
      Consumer<String> failures,
      Kept kept) {
    this.kept = kept;
    this.agent = agent;
    this.folder = folder;
    this.recorder = recorder;
    this.application = application;
    this.executor = executor;
    this.failures = failures;
  }

  /** Starts it on a thread of its own, and looks after it from then on. */
  public void start() {
    Thread first =
        new Thread(
            () -> Bounded.run("pyrometer-agent", this::begin, this::beginFailed),
            "pyrometer-agent-start");
    first.setDaemon(true);
    starter = first;
    first.start();
    // A signal may end the JVM before Spark has ended its plugins, and a driver has no other end.
    agent.atExit(
        () -> {
          recorder.finish();
          finish();
        });
    AgentWatch.Agent watched =
        new AgentWatch.Agent() {
          @Override
          public boolean isGone() {
            return agent.isGone();
          }

          @Override
          public void startAgain() throws IOException, InterruptedException {
            agent.startAgainIfGone(folder, application, executor, true);
          }
        };
    AgentWatch watch = new AgentWatch(watched, recorder::error);
    recorder.everySecond(
        () -> {
          watch.look();
          kept.look(agent.ships());
        });
  }

  /**
   * As the JVM ends: an agent that is being started is waited for, as nothing would ship without
   * it; what one that was killed has not shipped, another one does.
   */
  public void end() {
    Bounded.run(
        "pyrometer-agent",
        () -> {
          Thread first = starter;
          if (first != null) {
            first.join();
          }
          if (agent.startAgainIfGone(folder, application, executor, false)) {
            String said = "the agent had been killed; another one ships the rest";
            recorder.error("agent_gone", said);
          }
        },
        this::endFailed);
  }

  /**
   * Has the agent ship all that was written by now, and waits for it, two seconds at most (longer
   * where the processor is emulated): a container ends both at once.
   */
  public void settle() {
    await(() -> agent.settle(folder));
  }

  /**
   * The same as the JVM ends: where the agent puts nothing without it, it ends its streams, too.
   */
  public void finish() {
    if (!slow) {
      await(() -> agent.finish(folder));
    }
  }

  private void await(Bounded.Work work) {
    if (agent.ships()) {
      slow = !Bounded.run("pyrometer-settle", work, failure -> {}, LONGEST_MS);
    }
  }

  private void beginFailed(Throwable failure) {
    String why = failure.getMessage() == null ? failure.toString() : failure.getMessage();
    failures.accept("has no agent: " + why);
  }

  private void endFailed(Throwable failure) {
    // Too late does not mean that it was killed: it may still be starting for the first time.
    boolean slow = failure instanceof TimeoutException;
    recorder.error(slow ? "agent_start" : "agent_gone", failure);
  }

  private void begin() throws IOException, InterruptedException {
    agent.start(folder, application, executor);
  }
}
