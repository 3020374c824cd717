package org.pyrometer.plugin.reflection;

import java.lang.reflect.Field;

/** Private fields of others' classes. */
public final class Fields {
  private Fields() {}

  /**
   * A field of a class or of those that it extends, whatever Scala put in front of its name.
   *
   * @throws NoSuchFieldException if none of them has it
   */
  public static Field of(Class<?> of, String name) throws NoSuchFieldException {
    for (Class<?> type = of; type != null; type = type.getSuperclass()) {
      for (Field field : type.getDeclaredFields()) {
        if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
          field.setAccessible(true);
          return field;
        }
      }
    }
    throw new NoSuchFieldException(of.getName() + " has no field " + name);
  }
}
