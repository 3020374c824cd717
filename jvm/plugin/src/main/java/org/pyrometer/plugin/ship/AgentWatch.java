package org.pyrometer.plugin.ship;

import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;

/**
 * Has another agent started where the one beside this JVM was killed: what is recorded afterwards
 * would stay on this host if the JVM were killed as well.
 *
 * <p>A look costs next to nothing, so that any thread can take one; agents are started elsewhere.
 * Pauses before it double, and after some starts in a row it is left alone: where memory is short
 * the agent is the first to be killed, again and again. Nothing is thrown.
 */
public final class AgentWatch {
  /** Starts in a row. */
  static final int MOST_STARTS = 8;

  static final long FIRST_PAUSE_NS = 1_000_000_000L;
  static final long LONGEST_PAUSE_NS = 60_000_000_000L;

  /** An agent that has been there for so long has not failed at its start. */
  static final long SOUND_NS = 600_000_000_000L;

  /** What is watched. */
  public interface Agent {
    /** Whether it was there, and is no more. */
    boolean isGone();

    /**
     * Starts another one.
     *
     * @throws Exception if it does not start
     */
    void startAgain() throws Exception;
  }

  private final Agent agent;
  private final Executor elsewhere;
  private final BiConsumer<String, String> notes;
  private final LongSupplier nanos;

  /** Whether one is being started. */
  private volatile boolean starting;

  // Only whoever looks touches what follows.
  private boolean gone;
  private int starts;
  private long dueNs;
  private long thereSinceNs;

  /** Watches on threads of its own, which nothing waits for. */
  public AgentWatch(Agent agent, BiConsumer<String, String> notes) {
    this(agent, AgentWatch::onItsOwnThread, notes, System::nanoTime);
  }

  /**
   * The same with another clock and other threads.
   *
   * @param agent what is watched
   * @param elsewhere starts agents
   * @param notes takes where something went wrong, and what
   * @param nanos the clock
   */
  AgentWatch(
      Agent agent, Executor elsewhere, BiConsumer<String, String> notes, LongSupplier nanos) {
    this.agent = agent;
    this.elsewhere = elsewhere;
    this.notes = notes;
    this.nanos = nanos;
    this.thereSinceNs = nanos.getAsLong();
  }

  /** Looks, and has another agent started if it is time to; to be called about once a second. */
  public void look() {
    if (starting) {
      return;
    }
    long nowNs = nanos.getAsLong();
    if (!agent.isGone()) {
      there(nowNs);
      return;
    }
    if (!gone) {
      gone = true;
      dueNs = nowNs + pauseNs();
    }
    if (nowNs - dueNs < 0) {
      return;
    }
    if (starts >= MOST_STARTS) {
      if (starts == MOST_STARTS) {
        note("agent_given_up", "no agent is started any more: none of " + starts + " stayed");
      }
      starts = MOST_STARTS + 1;
      return;
    }
    starts++;
    dueNs = nowNs + pauseNs();
    begin();
  }

  private void there(long nowNs) {
    if (gone) {
      gone = false;
      thereSinceNs = nowNs;
    } else if (nowNs - thereSinceNs >= SOUND_NS) {
      starts = 0;
    }
  }

  private long pauseNs() {
    return Math.min(FIRST_PAUSE_NS << starts, LONGEST_PAUSE_NS);
  }

  private void begin() {
    starting = true;
    try {
      elsewhere.execute(this::startAgain);
    } catch (RuntimeException | Error e) {
      note("agent_again", e.toString());
      starting = false;
    }
  }

  private void startAgain() {
    try {
      agent.startAgain();
      note("agent_gone", "the agent had ended; another one goes on in its place");
    } catch (Throwable e) {
      note("agent_again", e.toString());
    } finally {
      starting = false;
    }
  }

  private void note(String where, String message) {
    try {
      notes.accept(where, message);
    } catch (RuntimeException | Error e) {
      // There is nowhere else to say it, and the application must not notice.
      return;
    }
  }

  private static void onItsOwnThread(Runnable start) {
    Thread thread = new Thread(start, "pyrometer-agent-start");
    thread.setDaemon(true);
    thread.start();
  }
}
