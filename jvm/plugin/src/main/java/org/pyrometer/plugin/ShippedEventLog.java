package org.pyrometer.plugin;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.EventLoggingListener;
import org.apache.spark.scheduler.LiveListenerBus;
import org.pyrometer.plugin.host.Patience;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.records.Secrets;
import scala.Option;

/**
 * Spark's event log among what a driver ships, whatever log the application has itself: that may be
 * off, or where nobody else can read it.
 *
 * <p>Spark's own writer writes it, from a queue of its own, as a plain file. Spark renames that at
 * the end, which would be another stream: what is shipped is a second name of it.
 */
final class ShippedEventLog {
  private static final String PREFIX = "spark.eventLog.";
  private static final String QUEUE = "pyrometer";

  /** A driver may have one application after another. */
  private static final AtomicInteger NUMBER = new AtomicInteger();

  /** Longest wait for events that are still queued: less than an application may be held up. */
  private static final long LONGEST_MS = Patience.patient(3_000);

  private final EventLoggingListener writer;
  private final LiveListenerBus bus;

  private ShippedEventLog(EventLoggingListener writer, LiveListenerBus bus) {
    this.writer = writer;
    this.bus = bus;
  }

  /**
   * Starts one, before any event was sent.
   *
   * @param context of the application, which is being made
   * @param jvm whose folder is shipped; its settings say what else the log is to have
   * @throws Exception if it cannot be written, or this Spark has no such writer
   */
  static ShippedEventLog start(SparkContext context, Jvm jvm) throws Exception {
    Path folder = jvm.folder();
    // With a dot in front, it is not shipped.
    String name = "driver-" + NUMBER.incrementAndGet();
    Path own = Files.createDirectory(folder.resolve(".eventlog-" + name));
    SparkConf conf = context.getConf();
    jvm.settings()
        .withPrefix("conf." + PREFIX)
        .forEach((key, said) -> conf.set(PREFIX + key, said));
    // A copy: the application's own log stays as it is.
    conf.set(Secrets.NAMES_KEY, Secrets.pattern(conf.get(Secrets.NAMES_KEY, null)));
    conf.set(PREFIX + "compress", "false");
    conf.set(PREFIX + "rolling.enabled", "false");
    EventLoggingListener writer =
        new EventLoggingListener(
            name, Option.empty(), own.toUri(), conf, context.hadoopConfiguration());
    writer.start();
    Path shipped = Files.createDirectories(folder.resolve("eventlog")).resolve(name);
    Files.createLink(shipped, only(own));
    context.listenerBus().addToQueue(writer, QUEUE);
    return new ShippedEventLog(writer, context.listenerBus());
  }

  /**
   * Waits for the events that are still queued, as Spark ends plugins before its queues, and writes
   * what is left. What comes later is not in the log.
   *
   * @throws Exception if Spark's queues, all of them, are not empty in time: the log may lack its
   *     last events
   */
  void stop() throws Exception {
    try {
      bus.waitUntilEmpty(LONGEST_MS);
    } finally {
      writer.stop();
    }
  }

  private static Path only(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      List<Path> found =
          files
              .filter(file -> !file.getFileName().toString().startsWith("."))
              .collect(Collectors.toList());
      if (found.size() != 1) {
        throw new IOException("Spark's event log is not one file: " + found);
      }
      return found.get(0);
    }
  }
}
