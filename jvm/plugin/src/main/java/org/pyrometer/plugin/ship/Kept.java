package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.records.Recorder;

/** Bounds what stays on a host that nobody may look at, where no agent ships it. */
public final class Kept {
  private static final String KEY = "ship.kept.mib";
  private static final long DEFAULT_MIB = 256;
  private static final long MOST_MIB = 1 << 20;

  private final Path folder;
  private final long mib;
  private final Recorder recorder;
  private final Runnable stop;

  // Only whoever looks touches what follows.
  private long beforeBytes = -1;
  private boolean stopped;

  /** Bounds the folder of a JVM. */
  public Kept(Jvm jvm) {
    this(jvm.folder(), jvm.settings(), jvm.recorder(), jvm::recordNoMore);
  }

  /**
   * Bounds another folder.
   *
   * @param folder where records are
   * @param settings with the bound
   * @param recorder takes that it is reached
   * @param stop ends what grows there
   */
  Kept(Path folder, Settings settings, Recorder recorder, Runnable stop) {
    this.folder = folder;
    this.mib = Math.min(settings.number(KEY, DEFAULT_MIB, 1), MOST_MIB);
    this.recorder = recorder;
    this.stop = stop;
  }

  /**
   * Looks how much has been kept since an agent shipped last, and ends what grows if that is too
   * much; to be called about once a second.
   *
   * @param ships whether an agent ships the folder now
   */
  public void look(boolean ships) {
    if (stopped) {
      return;
    }
    if (ships) {
      // What it has shipped is given back to the disk, but still in the lengths of files.
      beforeBytes = -1;
      return;
    }
    long bytes = bytes();
    if (bytes < 0) {
      // What was seen of it is no measure: a smaller one would later look like growth.
      return;
    }
    beforeBytes = beforeBytes < 0 ? bytes : beforeBytes;
    if (bytes - beforeBytes > mib << 20) {
      stopped = true;
      recorder.error(
          "kept_full",
          "nothing ships these records, and they have grown by "
              + mib
              + " MiB (spark.pyrometer."
              + KEY
              + "): from here on nothing of this JVM is recorded, and what is dropped is counted; give"
              + " executors a place to ship to (spark.pyrometer.ship.to), or raise the bound");
      stop.run();
    }
  }

  /** Bytes of the files in the folder; -1 where it cannot be read to its end. */
  private long bytes() {
    Sizes sizes = new Sizes();
    try {
      Files.walkFileTree(folder, sizes);
      return sizes.bytes;
    } catch (IOException | RuntimeException e) {
      recorder.error(
          "kept",
          "the size of "
              + folder
              + " cannot be read: "
              + e
              + "; until it can be, spark.pyrometer."
              + KEY
              + " bounds nothing there: see that its disk does not fill up");
      return -1;
    }
  }

  /** Adds up files; those that vanish meanwhile, as what was shipped does, count nothing. */
  private static final class Sizes extends SimpleFileVisitor<Path> {
    private long bytes;

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
      bytes += attributes.isRegularFile() ? attributes.size() : 0;
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
      return goOn(failure);
    }

    @Override
    public FileVisitResult postVisitDirectory(Path of, IOException failure) throws IOException {
      return goOn(failure);
    }

    private static FileVisitResult goOn(IOException failure) throws IOException {
      if (failure == null || failure instanceof NoSuchFileException) {
        return FileVisitResult.CONTINUE;
      }
      throw failure;
    }
  }
}
