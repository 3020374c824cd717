package org.pyrometer.plugin.codegen;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** Code generators that keep their caches as those of Spark 3.5 and 4.x do. */
public final class FakeGenerator {
  /** As Guava's interface. */
  public interface Cache {
    /** A live view. */
    ConcurrentMap<Object, Object> asMap();
  }

  private static class Wrapper {
    @SuppressWarnings("unused")
    private final Cache cache;

    Wrapper(ConcurrentMap<Object, Object> entries) {
      this.cache = () -> entries;
    }
  }

  private static final class LoadingWrapper extends Wrapper {
    LoadingWrapper(ConcurrentMap<Object, Object> entries) {
      super(entries);
    }
  }

  /** Spark 3.5, Scala 2.12: a field of the module. */
  public static final class OfInstance {
    static final ConcurrentMap<Object, Object> ENTRIES = new ConcurrentHashMap<>();

    /** The module. */
    public static final OfInstance MODULE$ = new OfInstance();

    @SuppressWarnings("unused")
    private final Wrapper cache = new LoadingWrapper(ENTRIES);
  }

  /** Spark 4.x, Scala 2.13: a static field. */
  public static final class OfClass {
    static final ConcurrentMap<Object, Object> ENTRIES = new ConcurrentHashMap<>();

    @SuppressWarnings("unused")
    private static final Wrapper cache = new LoadingWrapper(ENTRIES);
  }

  private FakeGenerator() {}
}
