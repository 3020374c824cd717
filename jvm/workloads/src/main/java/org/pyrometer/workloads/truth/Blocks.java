package org.pyrometer.workloads.truth;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.zip.CRC32;

/** Blocks of a file, read in order by one task, and live memory that a task visits at random. */
public final class Blocks {
  private static final int PIECE = 256 << 10;
  private static final int PAGE = 4096;
  private static byte[][] held;

  private Blocks() {}

  /**
   * Reads block {@code id} of a file.
   *
   * @return its CRC-32
   */
  public static long read(String path, int length, long id) throws IOException {
    byte[] block = new byte[length];
    try (RandomAccessFile file = new RandomAccessFile(path, "r")) {
      file.seek(id * length);
      file.readFully(block);
    }
    CRC32 crc = new CRC32();
    crc.update(block);
    return crc.getValue();
  }

  /**
   * Visits pages of {@code mib} mebibytes that stay alive until {@link #release}.
   *
   * @return a value that follows from {@code id} alone
   */
  public static long visit(int mib, int pages, long id) {
    byte[][] pieces = hold(mib);
    long seed = id;
    for (int i = 0; i < pages; i++) {
      seed = Calibrated.mix(seed);
      byte[] piece = pieces[(int) (seed % pieces.length)];
      piece[(int) (seed >>> 32) % (PIECE / PAGE) * PAGE]++;
    }
    return Calibrated.mix(id);
  }

  private static synchronized byte[][] hold(int mib) {
    int count = (int) (((long) mib << 20) / PIECE);
    if (held == null || held.length != count) {
      held = new byte[count][PIECE];
    }
    return held;
  }

  /** Lets the memory of {@link #visit} go. */
  public static synchronized void release() {
    held = null;
  }
}
