package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.security.PrivilegedExceptionAction;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkHadoopUtil;

/**
 * Hadoop's client as the application has it: its settings, its class path, and the user that it
 * works as, with the tokens of that user.
 */
final class HadoopClient {
  /** File systems that take the place of one whose class is not there. */
  private static final Map<String, String> STAND_INS = Map.of("s3", "s3a", "s3n", "s3a");

  /** What brings the class of a file system that Spark itself does not bring. */
  private static final Map<String, String> BROUGHT_BY =
      Map.of(
          "s3a", "hadoop-aws",
          "abfs", "hadoop-azure",
          "abfss", "hadoop-azure",
          "gs", "the Cloud Storage connector for Hadoop");

  /** In their addresses a container stands where others have a user. */
  private static final Set<String> WITH_CONTAINERS = Set.of("abfs", "abfss", "wasb", "wasbs");

  /**
   * The agent decides when a store is left alone and asked again: Hadoop's own tries would take
   * minutes, and nothing else would be shipped meanwhile.
   */
  private static final Map<String, String> IMPATIENT =
      Map.ofEntries(
          Map.entry("ipc.client.connect.timeout", "5000"),
          Map.entry("ipc.client.connect.max.retries", "1"),
          Map.entry("ipc.client.connect.max.retries.on.timeouts", "1"),
          Map.entry("ipc.client.rpc-timeout.ms", "20000"),
          Map.entry("dfs.client.socket-timeout", "20000"),
          Map.entry("dfs.client.failover.max.attempts", "4"),
          Map.entry("fs.s3a.attempts.maximum", "2"),
          Map.entry("fs.s3a.retry.limit", "2"),
          Map.entry("fs.s3a.connection.timeout", "20000"),
          Map.entry("fs.azure.io.retry.max.retries", "2"),
          Map.entry("fs.gs.http.max.retry", "2"),
          // No list and no delete for the folders above an object, which takes more rights.
          Map.entry("fs.s3a.directory.marker.retention", "keep"),
          Map.entry("fs.s3a.create.performance", "true"),
          // The last chunks are put while the JVM ends.
          Map.entry("fs.automatic.close", "false"));

  /** After Spark's own hook, which stops the application. */
  private static final int LATE = 1;

  private final Supplier<Configuration> settings;
  private final ClassLoader loader;
  private final UserGroupInformation user;
  private Configuration configuration;

  private HadoopClient(
      Supplier<Configuration> settings, ClassLoader loader, UserGroupInformation user) {
    this.settings = settings;
    this.loader = loader;
    this.user = user;
  }

  /**
   * The client as the current thread has it.
   *
   * @param conf settings of the application, those of Hadoop's among them
   * @throws IOException if nobody knows which user this is
   */
  static HadoopClient here(SparkConf conf) throws IOException {
    return here(() -> SparkHadoopUtil.get().newConfiguration(conf));
  }

  /** The same with settings of Hadoop's, which are asked for once they are needed. */
  static HadoopClient here(Supplier<Configuration> settings) throws IOException {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    return new HadoopClient(settings, loader, UserGroupInformation.getCurrentUser());
  }

  /** Has something done as the JVM ends, once Spark has stopped. */
  static void atExit(Runnable last) {
    ShutdownHookManager.get().addShutdownHook(last, LATE);
  }

  /**
   * The address that a file system of this client knows a place by; nothing is asked of it.
   *
   * @throws IOException if there is none for it, or it holds credentials; the message says why
   */
  URI address(String place) throws IOException {
    URI uri = parsed(place);
    String scheme = uri.getScheme().toLowerCase(Locale.ROOT);
    String authority = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
    String before = authority.substring(0, Math.max(0, authority.lastIndexOf('@')));
    boolean named = WITH_CONTAINERS.contains(scheme) && !before.contains(":");
    if (uri.getRawQuery() != null || !(before.isEmpty() || named)) {
      throw new IOException(
          "credentials do not belong into the address of a store: give them to Hadoop's client");
    }
    for (String known : List.of(scheme, STAND_INS.getOrDefault(scheme, scheme))) {
      if (knows(known)) {
        return URI.create(known + place.substring(scheme.length()));
      }
    }
    String wanted = STAND_INS.getOrDefault(scheme, scheme);
    throw new IOException(
        "Hadoop's client has no file system for "
            + wanted
            + ":// here: put "
            + BROUGHT_BY.getOrDefault(wanted, "the jar that has it")
            + " on the class path of driver and executors");
  }

  /** Opens the file system of an address: one of its own, which the application does not have. */
  FileSystem open(URI address) throws IOException {
    return asUser(() -> FileSystem.newInstance(address, configuration()));
  }

  /**
   * Does something as the application's user, with its class path.
   *
   * @throws IOException if it does not come about
   */
  <T> T asUser(PrivilegedExceptionAction<T> work) throws IOException {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(loader);
    try {
      return user.doAs(work);
    } catch (InterruptedException e) {
      thread.interrupt();
      throw (IOException) new InterruptedIOException("interrupted").initCause(e);
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  private static URI parsed(String place) throws IOException {
    try {
      URI uri = new URI(place);
      if (uri.getScheme() != null && uri.getRawSchemeSpecificPart().startsWith("//")) {
        return uri;
      }
    } catch (URISyntaxException e) {
      // What cannot be parsed may hold a password.
    }
    throw new IOException("ship.to is no URL of a store: give one such as hdfs://cluster/folder");
  }

  private boolean knows(String scheme) throws IOException {
    return asUser(
        () -> {
          try {
            return FileSystem.getFileSystemClass(scheme, configuration()) != null;
          } catch (IOException | RuntimeException | LinkageError e) {
            // No class is named, or it is not there, or it lacks one that it needs.
            return false;
          }
        });
  }

  private synchronized Configuration configuration() {
    if (configuration == null) {
      Configuration made = new Configuration(settings.get());
      made.setClassLoader(loader == null ? HadoopClient.class.getClassLoader() : loader);
      IMPATIENT.forEach((key, value) -> made.set(key, value, "pyrometer"));
      configuration = made;
    }
    return configuration;
  }
}
