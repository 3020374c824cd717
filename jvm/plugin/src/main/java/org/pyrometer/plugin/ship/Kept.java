package org.pyrometer.plugin.ship;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
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
    beforeBytes = beforeBytes < 0 ? bytes : beforeBytes;
    if (bytes - beforeBytes > mib << 20) {
      stopped = true;
      recorder.error(
          "kept_full",
          "nothing ships these records, and they have grown by "
              + mib
              + " MiB (spark.pyrometer."
              + KEY
              + "): no more is recorded, and what is dropped is counted");
      stop.run();
    }
  }

  private long bytes() {
    long sum = 0;
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path path : (Iterable<Path>) files::iterator) {
        File file = path.toFile();
        sum += file.isFile() ? file.length() : 0;
      }
    } catch (IOException | RuntimeException e) {
      recorder.error("kept", e);
    }
    return sum;
  }
}
