package org.pyrometer.plugin.pods;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import scala.collection.JavaConverters;

/** Pods with the getters of Kubernetes' model for Java, and a backend that has them as Spark's. */
public final class FakePods {
  private FakePods() {}

  /** As Spark's backend. */
  public static final class Backend {
    @SuppressWarnings("unused")
    private final Store snapshotsStore = new Store();

    /** Replaces the snapshot by one with a pod more. */
    void put(long executor, Object pod) {
      Map<Object, Object> pods = new TreeMap<>(snapshotsStore.of$$currentSnapshot.pods);
      pods.put(executor, new State(pod));
      snapshotsStore.of$$currentSnapshot = new Snapshot(pods);
    }
  }

  static final class Store {
    private Snapshot of$$currentSnapshot = new Snapshot(Map.of());
  }

  /** What Spark replaces, and never changes. */
  public static final class Snapshot {
    private final Map<Object, Object> pods;

    Snapshot(Map<Object, Object> pods) {
      this.pods = pods;
    }

    /** As Spark's. */
    public scala.collection.Map<Object, Object> executorPods() {
      return JavaConverters.mapAsScalaMapConverter(pods).asScala();
    }
  }

  /** As Spark's state of a pod. */
  public static final class State {
    private final Object pod;

    State(Object pod) {
      this.pod = pod;
    }

    /** The pod. */
    public Object pod() {
      return pod;
    }
  }

  /** A pod, and every object within it: each getter that is asked for is here. */
  public static final class Node {
    private final Map<String, Object> values = new TreeMap<>();

    Node with(String name, Object value) {
      values.put(name, value);
      return this;
    }

    Node at(String name) {
      return (Node) values.computeIfAbsent(name, key -> new Node());
    }

    @SuppressWarnings("unchecked")
    Node add(String name, Node one) {
      ((List<Object>) values.computeIfAbsent(name, key -> new ArrayList<>())).add(one);
      return this;
    }

    /** As the model's. */
    public Object getMetadata() {
      return values.get("metadata");
    }

    /** As the model's. */
    public Object getName() {
      return values.get("name");
    }

    /** As the model's. */
    public Object getCreationTimestamp() {
      return values.get("creationTimestamp");
    }

    /** As the model's. */
    public Object getSpec() {
      return values.get("spec");
    }

    /** As the model's. */
    public Object getNodeName() {
      return values.get("nodeName");
    }

    /** As the model's: of a pod its status, of a condition whether it holds. */
    public Object getStatus() {
      return values.get("status");
    }

    /** As the model's. */
    public Object getConditions() {
      return values.get("conditions");
    }

    /** As the model's. */
    public Object getType() {
      return values.get("type");
    }

    /** As the model's. */
    public Object getMessage() {
      return values.get("message");
    }

    /** As the model's. */
    public Object getReason() {
      return values.get("reason");
    }

    /** As the model's. */
    public Object getLastTransitionTime() {
      return values.get("lastTransitionTime");
    }

    /** As the model's. */
    public Object getContainerStatuses() {
      return values.get("containerStatuses");
    }

    /** As the model's. */
    public Object getImage() {
      return values.get("image");
    }

    /** As the model's. */
    public Object getState() {
      return values.get("state");
    }

    /** As the model's. */
    public Object getRunning() {
      return values.get("running");
    }

    /** As the model's. */
    public Object getTerminated() {
      return values.get("terminated");
    }

    /** As the model's. */
    public Object getWaiting() {
      return values.get("waiting");
    }

    /** As the model's. */
    public Object getStartedAt() {
      return values.get("startedAt");
    }
  }
}
