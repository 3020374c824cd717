package org.pyrometer.plugin.ship;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

class AgentWatchTest {
  private static final long SECOND_NS = 1_000_000_000L;

  /** An agent that is there, until it is not. */
  private static final class FakeAgent implements AgentWatch.Agent {
    boolean gone;
    boolean refuses;
    int starts;

    @Override
    public boolean isGone() {
      return gone;
    }

    @Override
    public void startAgain() throws IOException {
      starts++;
      if (refuses) {
        throw new IOException("no such store");
      }
      gone = false;
    }
  }

  private final FakeAgent agent = new FakeAgent();
  private final List<String> notes = new ArrayList<>();
  // As System.nanoTime may begin.
  private long nowNs = Long.MAX_VALUE - 5 * SECOND_NS;

  private AgentWatch watch(Executor elsewhere) {
    return new AgentWatch(
        agent, elsewhere, (where, message) -> notes.add(where + ": " + message), () -> nowNs);
  }

  /** Looks once a second for so long; says after how many seconds agents were started. */
  private List<Integer> looked(AgentWatch watch, int seconds) {
    List<Integer> starts = new ArrayList<>();
    for (int second = 0; second < seconds; second++) {
      int before = agent.starts;
      watch.look();
      nowNs += SECOND_NS;
      if (agent.starts > before) {
        starts.add(second);
      }
    }
    return starts;
  }

  @Test
  void oneThatIsThereIsLeftAlone() {
    assertEquals(List.of(), looked(watch(Runnable::run), 3_600));
    assertEquals(List.of(), notes);
  }

  @Test
  void oneThatIsGoneIsStartedAgainAfterASecond() {
    AgentWatch watch = watch(Runnable::run);
    looked(watch, 10);
    agent.gone = true;
    assertEquals(List.of(1), looked(watch, 600));
    assertEquals(1, notes.size());
    assertTrue(notes.get(0).startsWith("agent_gone: "), notes.toString());
  }

  @Test
  void pausesDoubleAndStartsInARowAreBounded() {
    AgentWatch watch = watch(Runnable::run);
    agent.gone = true;
    agent.refuses = true;
    assertEquals(List.of(1, 3, 7, 15, 31, 63, 123, 183), looked(watch, 3_600));
    assertEquals("agent_again: java.io.IOException: no such store", notes.get(0));
    assertEquals(AgentWatch.MOST_STARTS + 1, notes.size());
    assertTrue(notes.get(AgentWatch.MOST_STARTS).startsWith("agent_given_up: "), notes.toString());
  }

  @Test
  void oneThatIsKilledAgainAndAgainIsGivenUpAndOneThatStaysIsNot() {
    AgentWatch watch = watch(Runnable::run);
    for (int life = 0; life < 50; life++) {
      agent.gone = true;
      looked(watch, 90);
    }
    assertEquals(AgentWatch.MOST_STARTS, agent.starts);
    agent.gone = false;
    looked(watch, 700);
    agent.gone = true;
    assertEquals(List.of(1), looked(watch, 10));
  }

  @Test
  void nothingIsStartedTwiceAtOnceAndALookWaitsForNothing() {
    Deque<Runnable> waiting = new ArrayDeque<>();
    AgentWatch watch = watch(waiting::add);
    agent.gone = true;
    looked(watch, 600);
    assertEquals(1, waiting.size());
    assertEquals(0, agent.starts);
    waiting.remove().run();
    assertFalse(agent.gone);
  }

  @Test
  void nothingIsThrownWhereThereIsNoThreadAndNoMemory() {
    AgentWatch watch =
        new AgentWatch(
            agent,
            start -> {
              throw new OutOfMemoryError("unable to create native thread");
            },
            (where, message) -> {
              throw new OutOfMemoryError("Java heap space");
            },
            () -> nowNs);
    agent.gone = true;
    assertEquals(List.of(), looked(watch, 600));
  }
}
