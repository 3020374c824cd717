package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.util.function.Consumer;
import org.pyrometer.plugin.jvm.Bounded;
import org.pyrometer.plugin.jvm.Jvm;

/**
 * The agent beside a JVM that ships what it records, for as long as that runs: nothing waits for
 * its start, and where it was killed another one goes on.
 */
public final class AgentBeside {
  private final HostAgent agent;
  private final Jvm jvm;
  private final String application;
  private final String executor;
  private final Consumer<Throwable> failures;

  /**
   * One that is not started yet.
   *
   * @param jvm whose folder is shipped
   * @param application id of the application
   * @param executor id of the executor; {@code driver} of the driver
   * @param failures takes why there is none: what was recorded stays on this host
   */
  public AgentBeside(Jvm jvm, String application, String executor, Consumer<Throwable> failures) {
    this.agent = new HostAgent(jvm.settings());
    this.jvm = jvm;
    this.application = application;
    this.executor = executor;
    this.failures = failures;
  }

  /** Starts it on a thread of its own, and looks after it from then on. */
  public void start() {
    Thread starter =
        new Thread(
            () -> Bounded.run("pyrometer-agent", this::begin, failures), "pyrometer-agent-start");
    starter.setDaemon(true);
    starter.start();
    AgentWatch.Agent watched =
        new AgentWatch.Agent() {
          @Override
          public boolean isGone() {
            return agent.isGone();
          }

          @Override
          public void startAgain() throws IOException, InterruptedException {
            agent.startAgainIfGone(jvm.folder(), application, executor, true);
          }
        };
    jvm.recorder().everySecond(new AgentWatch(watched, jvm.recorder()::error)::look);
  }

  /** As the JVM ends: what an agent that was killed has not shipped, another one does. */
  public void end() {
    Bounded.run(
        "pyrometer-agent",
        () -> {
          if (agent.startAgainIfGone(jvm.folder(), application, executor, false)) {
            String said = "the agent had been killed; another one ships the rest";
            jvm.recorder().error("agent_gone", said);
          }
        },
        failure -> jvm.recorder().error("agent_gone", failure));
  }

  private void begin() throws IOException, InterruptedException {
    agent.start(jvm.folder(), application, executor);
  }
}
