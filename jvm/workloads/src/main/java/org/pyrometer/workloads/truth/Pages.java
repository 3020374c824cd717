package org.pyrometer.workloads.truth;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;

/** Memory outside the heap whose pages are touched once each, then given back. */
final class Pages {
  /** Above what malloc ever keeps for itself (32 MiB): always a mapping of its own. */
  private static final long REGION = 40L << 20;

  private static final int PAGE = 4096;
  private static final int STEP = 64;
  private static final ThreadLocal<Pages> MINE = ThreadLocal.withInitial(Pages::new);

  // By handles: javac warns of the class by name, and the warning cannot be suppressed.
  private static final MethodHandle ALLOCATE = unsafe("allocateMemory", long.class, long.class);
  private static final MethodHandle FREE = unsafe("freeMemory", void.class, long.class);
  private static final MethodHandle PUT = unsafe("putByte", void.class, long.class, byte.class);

  private long start;
  private long at;

  private Pages() {}

  /** Touches {@value #STEP} fresh pages: as many page faults, unless the kernel has huge ones. */
  static void touch() {
    try {
      MINE.get().step();
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private void step() throws Throwable {
    if (start == 0) {
      start = (long) ALLOCATE.invokeExact(REGION);
      at = start;
    }
    for (int i = 0; i < STEP; i++, at += PAGE) {
      PUT.invokeExact(at, (byte) 1);
    }
    if (at + (long) STEP * PAGE > start + REGION) {
      FREE.invokeExact(start);
      start = 0;
    }
  }

  private static MethodHandle unsafe(String name, Class<?> returned, Class<?>... taken) {
    try {
      Class<?> unsafe = Class.forName("sun.misc.Unsafe");
      Field field = unsafe.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return MethodHandles.lookup()
          .bind(field.get(null), name, MethodType.methodType(returned, taken));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
