package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Folders and programs that only this user can reach, below a folder that anybody may write to. */
public final class PrivateFolder {
  private static final FileAttribute<?> OURS =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private PrivateFolder() {}

  /**
   * Creates one in the folder for temporary files, or else in the first of Spark's local folders
   * that takes it, or in the working folder.
   *
   * @param application its id, of which only plain characters become part of the name
   * @param executor the same
   * @param local value of {@code spark.local.dir}; variables of the manager go before it
   * @throws IOException if none can be written
   */
  public static Path create(String application, String executor, String local) throws IOException {
    List<String> places = new ArrayList<>();
    places.add(System.getProperty("java.io.tmpdir", ""));
    for (String several : new String[] {System.getenv("SPARK_LOCAL_DIRS"), local}) {
      for (String one : (several == null ? "" : several).split(",")) {
        if (!one.isBlank()) {
          places.add(one.trim());
        }
      }
    }
    places.add("");
    return first(places, "pyrometer-" + plain(application) + "-" + plain(executor) + "-");
  }

  /** Creates one in the first folder that takes it; without a name it is the working folder. */
  static Path first(List<String> places, String name) throws IOException {
    IOException refused = new IOException("none of " + places + " can be written");
    for (String place : places) {
      try {
        return in(Path.of(place), name);
      } catch (IOException | InvalidPathException e) {
        refused.addSuppressed(e);
      }
    }
    throw refused;
  }

  /** Creates one in a given folder. */
  static Path in(Path parent, String name) throws IOException {
    return Files.createTempDirectory(parent.toAbsolutePath(), name, OURS);
  }

  /**
   * Writes a program that is not there yet; a link in its place is not followed.
   *
   * @throws FileAlreadyExistsException if something has that name
   * @throws IOException if it cannot be written
   */
  static void program(Path file, InputStream content) throws IOException {
    Set<StandardOpenOption> how = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    try (OutputStream out = Channels.newOutputStream(Files.newByteChannel(file, how, OURS))) {
      content.transferTo(out);
    }
  }

  private static String plain(String id) {
    String plain = id.replaceAll("[^A-Za-z0-9._]", "_");
    return plain.substring(0, Math.min(plain.length(), 80));
  }
}
