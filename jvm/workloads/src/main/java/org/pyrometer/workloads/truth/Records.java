package org.pyrometer.workloads.truth;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Objects that go through Spark's serialiser, whichever is set, and back. */
final class Records {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);
  private static final List<Entry> PLAIN = new ArrayList<>();
  private static final ThreadLocal<SerializerInstance> MINE =
      ThreadLocal.withInitial(() -> SparkEnv.get().serializer().newInstance());

  static {
    for (int i = 0; i < 32; i++) {
      PLAIN.add(new Entry(i, "entry " + i, new double[] {i, i * 0.5}));
    }
  }

  private Records() {}

  static void roundTrip() {
    SerializerInstance serializer = MINE.get();
    List<?> back = (List<?>) serializer.deserialize(serializer.serialize(PLAIN, ANY), ANY);
    if (back.size() != PLAIN.size() || !PLAIN.get(31).equals(back.get(31))) {
      throw new IllegalStateException("another list came back");
    }
  }

  /** A record as applications have them. */
  static final class Entry implements Serializable {
    private static final long serialVersionUID = 1;
    private final long id;
    private final String name;
    private final double[] values;

    @SuppressWarnings("unused") // Kryo makes one without.
    private Entry() {
      this(0, "", new double[0]);
    }

    Entry(long id, String name, double[] values) {
      this.id = id;
      this.name = name;
      this.values = values;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Entry
          && ((Entry) other).id == id
          && ((Entry) other).name.equals(name)
          && java.util.Arrays.equals(((Entry) other).values, values);
    }

    @Override
    public int hashCode() {
      return Long.hashCode(id);
    }
  }
}
