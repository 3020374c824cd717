package org.pyrometer.plugin.ship;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A file system of Hadoop's on this disk that fails as planned. Like HDFS, and unlike that below
 * it, it renames onto nothing.
 */
public final class FaultyFiles extends RawLocalFileSystem {
  /** What goes wrong. */
  enum Fault {
    NONE,
    /** It hangs until somebody interrupts it. */
    HANGS,
    /** It hangs, whatever anybody does, until it is released. */
    HANGS_FOR_GOOD,
    THROWS,
    THROWS_ERROR,
    FULL,
    RENAME_REFUSED,
    /** The rename is done, and the answer lost. */
    RENAME_UNANSWERED,
    /** Half is written when the connection is lost. */
    CONNECTION_LOST
  }

  private static final Set<Fault> IN_RENAME =
      EnumSet.of(Fault.RENAME_REFUSED, Fault.RENAME_UNANSWERED);
  private static final Set<Fault> IN_CREATE =
      EnumSet.complementOf(EnumSet.of(Fault.NONE, Fault.RENAME_REFUSED, Fault.RENAME_UNANSWERED));

  /** How often a file system was opened. */
  static final AtomicInteger OPENED = new AtomicInteger();

  private static final AtomicInteger LEFT = new AtomicInteger();
  private static volatile Fault fault = Fault.NONE;
  private static volatile CountDownLatch released = new CountDownLatch(1);
  private volatile boolean closed;
  private URI uri;

  /** A client that knows it as {@code pyro}, and in the place of S3. */
  static HadoopClient client() throws IOException {
    Configuration conf = new Configuration();
    for (String scheme : List.of("pyro", "s3a")) {
      conf.set("fs." + scheme + ".impl", FaultyFiles.class.getName());
    }
    return HadoopClient.here(() -> conf);
  }

  /** Has the next attempts go wrong; what hung before goes on. */
  static void plan(Fault what, int attempts) {
    released.countDown();
    released = new CountDownLatch(1);
    LEFT.set(attempts);
    fault = what;
  }

  @Override
  public void initialize(URI address, Configuration conf) throws IOException {
    super.initialize(address, conf);
    uri = URI.create(address.getScheme() + ":///");
    OPENED.incrementAndGet();
  }

  @Override
  public URI getUri() {
    return uri == null ? super.getUri() : uri;
  }

  @Override
  protected void checkPath(Path path) {
    // Of any address that is registered.
  }

  @Override
  public FSDataOutputStream create(
      Path file,
      FsPermission rights,
      boolean overwrite,
      int buffer,
      short copies,
      long block,
      Progressable progress)
      throws IOException {
    if (closed) {
      throw new IOException("Filesystem closed");
    }
    Fault now = due(IN_CREATE);
    switch (now) {
      case HANGS -> {
        if (!hasEnded(released)) {
          throw new IOException("interrupted");
        }
      }
      case HANGS_FOR_GOOD -> {
        CountDownLatch until = released;
        while (!hasEnded(until)) {
          Thread.onSpinWait();
        }
      }
      case THROWS ->
          throw new IllegalStateException("no\nidea; password=hunter22 https://h/x?sig=abcd");
      case THROWS_ERROR -> throw new NoClassDefFoundError("org/apache/Missing");
      case FULL -> throw new FileNotFoundException(file + ": no space left");
      default -> {}
    }
    FSDataOutputStream out = super.create(file, rights, overwrite, buffer, copies, block, progress);
    return now == Fault.CONNECTION_LOST ? half(out) : out;
  }

  /** Waits; false if it was interrupted before. */
  private static boolean hasEnded(CountDownLatch until) {
    try {
      until.await();
      return true;
    } catch (InterruptedException e) {
      return false;
    }
  }

  private static FSDataOutputStream half(FSDataOutputStream out) throws IOException {
    return new FSDataOutputStream(out, (FileSystem.Statistics) null) {
      @Override
      public synchronized void write(byte[] bytes, int from, int length) throws IOException {
        out.write(bytes, from, length / 2);
        throw new IOException("connection reset");
      }
    };
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    Fault now = due(IN_RENAME);
    if (now == Fault.RENAME_REFUSED || exists(to)) {
      return false;
    }
    boolean renamed = super.rename(from, to);
    if (now == Fault.RENAME_UNANSWERED) {
      throw new IOException("connection reset");
    }
    return renamed;
  }

  @Override
  public void close() throws IOException {
    closed = true;
    super.close();
  }

  private static Fault due(Set<Fault> here) {
    Fault planned = fault;
    return here.contains(planned) && LEFT.getAndDecrement() > 0 ? planned : Fault.NONE;
  }
}
