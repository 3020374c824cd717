package org.pyrometer.plugin.pods;

import java.lang.reflect.Field;
import org.pyrometer.plugin.reflection.Fields;
import org.pyrometer.plugin.reflection.Getters;
import scala.collection.Iterator;
import scala.collection.Map;

/**
 * The executors' pods as Spark's backend for Kubernetes has them, by reflection.
 *
 * <p>Spark watches these pods anyway. To read what it keeps asks nobody, needs no rights and no
 * credentials, and is the same whatever its client and its deploy mode.
 */
final class SparkPods {
  private final Object store;
  private final Field current;
  private final Getters getters;
  private Object seen;

  /**
   * The pods of a backend.
   *
   * @throws ReflectiveOperationException if this Spark keeps its pods in another way
   */
  SparkPods(Object backend, Getters getters) throws ReflectiveOperationException {
    this.store = Fields.of(backend.getClass(), "snapshotsStore").get(backend);
    this.current = Fields.of(store.getClass(), "currentSnapshot");
    this.getters = getters;
  }

  /**
   * All pods, by number of their executor, if anything changed since the last look; else null.
   *
   * <p>What Spark keeps is never changed, but replaced: it can be read without its lock.
   *
   * @throws ReflectiveOperationException if they are not as expected
   */
  Iterator<?> changed() throws ReflectiveOperationException {
    Object snapshot = current.get(store);
    if (snapshot == seen) {
      return null;
    }
    Map<?, ?> pods = (Map<?, ?>) getters.get(snapshot, "executorPods");
    seen = snapshot;
    return pods.iterator();
  }
}
