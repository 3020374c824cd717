package org.pyrometer.plugin.hooks;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.security.CodeSource;
import org.pyrometer.plugin.jvm.Folders;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.records.Secrets;

/** Called by the transformed {@code SparkContext} with the configuration it is about to keep. */
public final class OverlayHook {
  private OverlayHook() {}

  /**
   * Applies the overlay. Never throws.
   *
   * @param conf the {@code SparkConf}; reached by reflection, so that the agent loads without Spark
   */
  public static void apply(Object conf) {
    try {
      Jvm jvm = Jvm.current();
      if (jvm == null || conf == null) {
        return;
      }
      Overlay overlay = new Overlay(jvm.settings(), jar(), Folders::takes);
      ReflectedConf found = new ReflectedConf(conf);
      Secrets.learn(found.get(Secrets.NAMES_KEY), found.get(Secrets.TEXTS_KEY));
      overlay.apply(found, jvm.recorder()::offer);
    } catch (Throwable e) {
      failed("overlay", e);
    }
  }

  /** Notes a failure of the agent. Never throws. */
  public static void failed(String where, Throwable failure) {
    try {
      Jvm.failed(where, failure);
    } catch (Throwable e) {
      // With a full heap the note cannot be written either.
      return;
    }
  }

  private static Path jar() throws Exception {
    CodeSource source = OverlayHook.class.getProtectionDomain().getCodeSource();
    return Path.of(source.getLocation().toURI());
  }

  /** A {@code SparkConf} of whatever version and class loader. */
  private static final class ReflectedConf implements Overlay.Conf {
    private final Object conf;
    private final Method get;
    private final Method set;

    ReflectedConf(Object conf) throws NoSuchMethodException {
      this.conf = conf;
      this.get = conf.getClass().getMethod("get", String.class, String.class);
      this.set = conf.getClass().getMethod("set", String.class, String.class);
    }

    @Override
    public String get(String key) {
      return (String) call(get, key, null);
    }

    @Override
    public void set(String key, String value) {
      call(set, key, value);
    }

    private Object call(Method method, String key, String value) {
      try {
        return method.invoke(conf, key, value);
      } catch (IllegalAccessException | InvocationTargetException e) {
        throw new IllegalStateException("SparkConf." + method.getName() + "(" + key + ")", e);
      }
    }
  }
}
