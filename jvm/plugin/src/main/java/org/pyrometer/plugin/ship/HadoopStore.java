package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * A folder of any file system that Hadoop's client writes to, as a store of chunks. Several threads
 * may put at once.
 */
final class HadoopStore {
  /** Where an object is there once its stream is closed, and a rename would copy it. */
  private static final Set<String> AT_CLOSE =
      Set.of("s3a", "s3", "s3n", "gs", "oss", "cosn", "obs");

  private static final short OURS_ALONE = 0700;
  private static final short FILE_OF_OURS = 0600;
  private static final int BUFFER_BYTES = 1 << 16;

  /** Failures in a row after which the file system is opened anew: somebody may have closed it. */
  private static final int MOST_FAILURES = 2;

  private final HadoopClient client;
  private final URI address;
  private final boolean renames;

  /** Held while it is opened, which may take long. */
  private final ReentrantLock opening = new ReentrantLock();

  private final Set<Path> made = ConcurrentHashMap.newKeySet();
  private final AtomicInteger failures = new AtomicInteger();
  private final AtomicInteger attempts = new AtomicInteger();
  private volatile FileSystem open;

  /** The store at an address; it is opened with the first chunk. */
  HadoopStore(HadoopClient client, URI address) {
    this.client = client;
    this.address = address;
    this.renames = !AT_CLOSE.contains(address.getScheme());
  }

  /**
   * Puts an object under a name, in the place of one that is there: whole or not at all. An
   * interrupt ends it.
   *
   * @param key its name, with slashes between folders
   * @throws IOException if nobody knows that it is there
   */
  void put(String key, byte[] object) throws IOException {
    FileSystem files = null;
    try {
      files = files();
      FileSystem used = files;
      client.asUser(
          () -> {
            write(used, key, object);
            return null;
          });
      failures.set(0);
    } catch (IOException | RuntimeException | Error e) {
      failed(files);
      throw e;
    }
  }

  private void write(FileSystem files, String key, byte[] object) throws IOException {
    Path root = new Path(address);
    Path target = new Path(root, key);
    if (!renames) {
      create(files, target, object);
      return;
    }
    makeFolders(files, root, target.getParent());
    Path temporary = new Path(target.getParent(), temporaryName(target.getName()));
    try {
      create(files, temporary, object);
      if (files.rename(temporary, target)) {
        return;
      }
      // It was put before, and nobody was told.
      files.delete(target, false);
      if (!files.rename(temporary, target)) {
        throw new IOException("the file system does not rename " + temporary + " to " + target);
      }
    } catch (IOException | RuntimeException e) {
      remove(files, temporary);
      throw e;
    }
  }

  /** One that no attempt has that may still be under way; whoever prunes the store knows it. */
  private String temporaryName(String name) {
    String sequence = name.substring(0, name.lastIndexOf('.'));
    return String.format("%s%09d.tmp", sequence, attempts.incrementAndGet());
  }

  private static void remove(FileSystem files, Path temporary) {
    try {
      if (!Thread.currentThread().isInterrupted()) {
        files.delete(temporary, false);
      }
    } catch (IOException | RuntimeException e) {
      // What is left of it is no chunk.
      return;
    }
  }

  private static void create(FileSystem files, Path file, byte[] object) throws IOException {
    FsPermission rights = new FsPermission(FILE_OF_OURS);
    short copies = files.getDefaultReplication(file);
    long block = files.getDefaultBlockSize(file);
    try (FSDataOutputStream out =
        files.create(file, rights, true, BUFFER_BYTES, copies, block, null)) {
      out.write(object);
    }
  }

  /** One by one: file systems differ in the rights that they give to those between. */
  private void makeFolders(FileSystem files, Path root, Path folder) throws IOException {
    if (made.contains(folder)) {
      return;
    }
    if (!folder.equals(root)) {
      makeFolders(files, root, folder.getParent());
    }
    if (!files.mkdirs(folder, new FsPermission(OURS_ALONE))) {
      throw new IOException("the file system does not make " + folder);
    }
    made.add(folder);
  }

  private FileSystem files() throws IOException {
    try {
      opening.lockInterruptibly();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("interrupted").initCause(e);
    }
    try {
      if (open == null) {
        open = client.open(address);
      }
      return open;
    } finally {
      opening.unlock();
    }
  }

  /** Folders may have been removed meanwhile, and the file system closed. */
  private void failed(FileSystem used) {
    made.clear();
    if (failures.incrementAndGet() < MOST_FAILURES || used == null || open != used) {
      return;
    }
    open = null;
    try {
      used.close();
    } catch (IOException | RuntimeException | Error e) {
      // It is not used any more, whatever that says.
      return;
    }
  }
}
