package org.pyrometer.plugin.reflection;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What getters say, of classes that are known at run time only. */
public final class Getters {
  private final Map<Class<?>, Map<String, Method>> known = new HashMap<>();

  /**
   * Follows getters from an object on; null as soon as one gives null.
   *
   * @throws ReflectiveOperationException if there is no such getter, or it fails
   */
  public Object get(Object from, String... path) throws ReflectiveOperationException {
    Object value = from;
    for (String name : path) {
      if (value == null) {
        return null;
      }
      value = method(value.getClass(), name).invoke(value);
    }
    return value;
  }

  /** The same of a text; null of anything else. */
  public String text(Object from, String... path) throws ReflectiveOperationException {
    Object value = get(from, path);
    return value instanceof String ? (String) value : null;
  }

  /** The same of a list; empty of anything else. */
  public List<?> list(Object from, String... path) throws ReflectiveOperationException {
    Object value = get(from, path);
    return value instanceof List ? (List<?>) value : List.of();
  }

  private Method method(Class<?> of, String name) throws NoSuchMethodException {
    Map<String, Method> methods = known.computeIfAbsent(of, type -> new HashMap<>());
    Method method = methods.get(name);
    if (method == null) {
      method = of.getMethod(name);
      method.setAccessible(true);
      methods.put(name, method);
    }
    return method;
  }
}
