package org.pyrometer.plugin.pods;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.pyrometer.plugin.host.Clocks;
import org.pyrometer.plugin.records.Recorder;
import org.pyrometer.plugin.reflection.Getters;
import scala.Tuple2;
import scala.collection.Iterator;

/** Notes, on the writer's thread, what becomes of executors' pods until their containers run. */
public final class PodWatch implements Runnable {
  /** Switch of the settings. */
  public static final String KEY = "pods";

  /** Spark's setting of the container's name. */
  public static final String CONTAINER_KEY = "spark.kubernetes.executor.podTemplateContainerName";

  /** Executors are numbered one by one: beyond this, no more pods are noted. */
  private static final int MOST = 1 << 20;

  private final Getters getters = new Getters();
  private final SparkPods pods;
  private final String appId;
  private final String container;
  private final Recorder recorder;
  private final BitSet started = new BitSet();
  private Map<Integer, PodReading> pending = new HashMap<>();
  private boolean failed;

  /**
   * A watch over the pods of an application, which looks whenever it is run.
   *
   * @param backend Spark's, for Kubernetes
   * @param appId the application
   * @param container name of executors' containers, or null
   * @param recorder where readings go
   * @throws ReflectiveOperationException if this Spark keeps its pods in another way
   */
  public PodWatch(Object backend, String appId, String container, Recorder recorder)
      throws ReflectiveOperationException {
    this.pods = new SparkPods(backend, getters);
    this.appId = appId;
    this.container = container == null ? PodReading.CONTAINER : container;
    this.recorder = recorder;
  }

  @Override
  public void run() {
    if (failed) {
      return;
    }
    try {
      Iterator<?> all = pods.changed();
      if (all != null) {
        look(all);
      }
    } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
      // It would fail every time.
      failed = true;
      pending.clear();
      recorder.error("pods", e);
    }
  }

  private void look(Iterator<?> all) throws ReflectiveOperationException {
    Map<Integer, PodReading> still = new HashMap<>();
    long now = Clocks.wallNs();
    while (all.hasNext()) {
      Tuple2<?, ?> entry = (Tuple2<?, ?>) all.next();
      long executor = ((Number) entry._1()).longValue();
      if (executor < 0 || executor >= MOST || started.get((int) executor)) {
        continue;
      }
      Object pod = getters.get(entry._2(), "pod");
      PodReading read = PodReading.of(getters, pod, appId, executor, container, now);
      PodReading before = pending.get((int) executor);
      if (before != null) {
        read.complain(before);
      }
      if (before == null || !read.says(before)) {
        recorder.offer(read);
      }
      if (read.hasStarted()) {
        started.set((int) executor);
      } else {
        still.put((int) executor, read);
      }
    }
    pending = still;
  }
}
