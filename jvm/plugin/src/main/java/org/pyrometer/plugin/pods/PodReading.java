package org.pyrometer.plugin.pods;

import java.time.DateTimeException;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.pyrometer.plugin.records.Event;
import org.pyrometer.plugin.records.Json;
import org.pyrometer.plugin.records.Secrets;
import org.pyrometer.plugin.reflection.Getters;

/** Record {@code pod}: what the status of an executor's pod says so far. */
final class PodReading implements Event {
  /** Name of the executor's container, unless a template gives it another. */
  static final String CONTAINER = "spark-kubernetes-executor";

  private static final int LONGEST_TEXT = 400;
  private static final long UNKNOWN = -1;
  private static final long LAST_SECOND = Long.MAX_VALUE / 1_000_000_000L;

  /** Reasons of a container that is on its way as it should be. */
  private static final List<String> USUAL = List.of("ContainerCreating", "PodInitializing");

  private final String appId;
  private final long executor;
  private final long wallNs;
  private String name;
  private String node;
  private String image;
  private String unschedulable;
  private String waiting;
  private long createdNs = UNKNOWN;
  private long scheduledNs = UNKNOWN;
  private long preparedNs = UNKNOWN;
  private long initializedNs = UNKNOWN;
  private long startedNs = UNKNOWN;

  private PodReading(String appId, long executor, long wallNs) {
    this.appId = appId;
    this.executor = executor;
    this.wallNs = wallNs;
  }

  /**
   * Reads a pod.
   *
   * @param getters by which it is read
   * @param pod of Kubernetes' model for Java, of any version
   * @param appId whose pod it is
   * @param executor number of its executor
   * @param container name of the executor's container
   * @param wallNs now, Unix time
   * @throws ReflectiveOperationException if the model is another
   */
  static PodReading of(
      Getters getters, Object pod, String appId, long executor, String container, long wallNs)
      throws ReflectiveOperationException {
    PodReading read = new PodReading(appId, executor, wallNs);
    read.name = getters.text(pod, "getMetadata", "getName");
    read.createdNs = time(getters.text(pod, "getMetadata", "getCreationTimestamp"));
    read.node = getters.text(pod, "getSpec", "getNodeName");
    for (Object one : getters.list(pod, "getStatus", "getConditions")) {
      read.condition(getters, one);
    }
    List<?> statuses = getters.list(pod, "getStatus", "getContainerStatuses");
    for (Object one : statuses) {
      if (statuses.size() == 1 || container.equals(getters.text(one, "getName"))) {
        read.container(getters, one);
      }
    }
    return read;
  }

  private void condition(Getters getters, Object condition) throws ReflectiveOperationException {
    String type = String.valueOf(getters.text(condition, "getType"));
    boolean holds = "True".equals(getters.text(condition, "getStatus"));
    if (!holds) {
      if (type.equals("PodScheduled")) {
        String message = getters.text(condition, "getMessage");
        unschedulable = message == null ? getters.text(condition, "getReason") : message;
      }
      return;
    }
    long since = time(getters.text(condition, "getLastTransitionTime"));
    switch (type) {
      case "PodScheduled":
        scheduledNs = since;
        break;
      case "PodReadyToStartContainers":
        preparedNs = since;
        break;
      case "Initialized":
        initializedNs = since;
        break;
      default:
        break;
    }
  }

  private void container(Getters getters, Object status) throws ReflectiveOperationException {
    image = getters.text(status, "getImage");
    Object state = getters.get(status, "getState");
    startedNs = time(getters.text(state, "getRunning", "getStartedAt"));
    if (startedNs == UNKNOWN) {
      startedNs = time(getters.text(state, "getTerminated", "getStartedAt"));
    }
    String reason = getters.text(state, "getWaiting", "getReason");
    waiting = reason == null || USUAL.contains(reason) ? null : reason;
  }

  /** Keeps what an earlier reading had to complain about: the pod has got over it. */
  void complain(PodReading earlier) {
    unschedulable = earlier.unschedulable == null ? unschedulable : earlier.unschedulable;
    waiting = earlier.waiting == null ? waiting : earlier.waiting;
  }

  /** Whether its container runs, or ran: nothing more is to come. */
  boolean hasStarted() {
    return startedNs != UNKNOWN;
  }

  /** Whether it says the same as another of this pod. */
  boolean says(PodReading other) {
    return Objects.equals(name, other.name)
        && Objects.equals(node, other.node)
        && Objects.equals(image, other.image)
        && Objects.equals(unschedulable, other.unschedulable)
        && Objects.equals(waiting, other.waiting)
        && createdNs == other.createdNs
        && scheduledNs == other.scheduledNs
        && preparedNs == other.preparedNs
        && initializedNs == other.initializedNs
        && startedNs == other.startedNs;
  }

  @Override
  public String kind() {
    return "pod";
  }

  @Override
  public void format(StringBuilder out) {
    new Json(out)
        .open(kind())
        .put("app_id", appId)
        .put("executor_id", String.valueOf(executor))
        .put("name", cut(name))
        .put("node", cut(node))
        .put("image", cut(image))
        .put("unschedulable", cut(unschedulable))
        .put("waiting", cut(waiting))
        .putKnown("created_wall_ns", createdNs)
        .putKnown("scheduled_wall_ns", scheduledNs)
        .putKnown("prepared_wall_ns", preparedNs)
        .putKnown("initialized_wall_ns", initializedNs)
        .putKnown("started_wall_ns", startedNs)
        .put("wall_ns", wallNs)
        .close();
  }

  private static String cut(String text) {
    if (text == null) {
      return null;
    }
    String safe = Secrets.text(text);
    if (safe.length() <= LONGEST_TEXT) {
      return safe;
    }
    // Half a character is no JSON.
    boolean splits = Character.isHighSurrogate(safe.charAt(LONGEST_TEXT - 1));
    return safe.substring(0, splits ? LONGEST_TEXT - 1 : LONGEST_TEXT);
  }

  private static long time(String text) {
    if (text == null) {
      return UNKNOWN;
    }
    try {
      Instant at = Instant.parse(text);
      long seconds = at.getEpochSecond();
      return seconds < 0 || seconds >= LAST_SECOND
          ? UNKNOWN
          : seconds * 1_000_000_000L + at.getNano();
    } catch (DateTimeException e) {
      return UNKNOWN;
    }
  }
}
