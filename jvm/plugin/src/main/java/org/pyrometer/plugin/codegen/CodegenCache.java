package org.pyrometer.plugin.codegen;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.Map;
import org.pyrometer.plugin.reflection.Fields;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The cache in which Spark's {@code CodeGenerator} keeps what it compiled, by reflection.
 *
 * <p>Reading it changes nothing: Guava counts no access for an iteration over a cache's map.
 */
public final class CodegenCache {
  /** The object that holds the cache. */
  public static final String GENERATOR =
      "org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$";

  private static final String SOURCE = ".CodeAndComment";
  private static final int SIZES = 3;

  private final Map<?, ?> entries;
  private Method body;
  private Method comment;

  /**
   * The cache of a generator.
   *
   * @param generator the class, initialised: otherwise this would do so, with the settings of
   *     whatever thread calls
   * @throws ReflectiveOperationException if this Spark keeps its cache in another way
   */
  public CodegenCache(Class<?> generator) throws ReflectiveOperationException {
    Field field = Fields.of(generator, "cache");
    Object module = null;
    if (!Modifier.isStatic(field.getModifiers())) {
      module = generator.getField("MODULE$").get(null);
    }
    Object wrapper = field.get(module);
    Field wrapped = Fields.of(wrapper.getClass(), "cache");
    // By the field's type, an interface: the class of its value is not public.
    entries = (Map<?, ?>) wrapped.getType().getMethod("asMap").invoke(wrapped.get(wrapper));
  }

  /** A live view of the entries: the key of each compilation, and what came of it. */
  public Map<?, ?> entries() {
    return entries;
  }

  /**
   * What an entry's key and value say.
   *
   * @throws ReflectiveOperationException if they are not as expected
   */
  public GeneratedSource read(Object key, Object value) throws ReflectiveOperationException {
    Object source = source(key);
    if (body == null) {
      body = source.getClass().getMethod("body");
      comment = source.getClass().getMethod("comment");
    }
    Map<String, String> comments = new HashMap<>();
    Iterator<?> pairs = ((scala.collection.Map<?, ?>) comment.invoke(source)).iterator();
    while (pairs.hasNext()) {
      Tuple2<?, ?> pair = (Tuple2<?, ?>) pairs.next();
      comments.put(String.valueOf(pair._1()), String.valueOf(pair._2()));
    }
    return new GeneratedSource((String) body.invoke(source), comments, sizes(value));
  }

  /** The key itself, or the element of it, as Spark's version has it. */
  private static Object source(Object key) throws NoSuchFieldException {
    if (key.getClass().getName().endsWith(SOURCE)) {
      return key;
    }
    if (key instanceof Product) {
      Product parts = (Product) key;
      for (int i = 0; i < parts.productArity(); i++) {
        Object part = parts.productElement(i);
        if (part != null && part.getClass().getName().endsWith(SOURCE)) {
          return part;
        }
      }
    }
    throw new NoSuchFieldException("no source in a key of " + key.getClass().getName());
  }

  private static int[] sizes(Object value) {
    int[] sizes = {-1, -1, -1};
    if (value instanceof Tuple2 && ((Tuple2<?, ?>) value)._2() instanceof Product) {
      Product stats = (Product) ((Tuple2<?, ?>) value)._2();
      for (int i = 0; i < SIZES && i < stats.productArity(); i++) {
        Object size = stats.productElement(i);
        sizes[i] = size instanceof Integer ? (Integer) size : -1;
      }
    }
    return sizes;
  }
}
