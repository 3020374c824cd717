package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

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
   * @param local value of {@code spark.local.dir}; what the manager sets goes before it
   * @throws IOException if none can be written; the message says why, and what to set
   */
  public static Path create(String application, String executor, String local) throws IOException {
    String name = "pyrometer-" + plain(application) + "-" + plain(executor) + "-";
    return first(places(System.getenv(), local), name);
  }

  /** Where one may be, best first; without a name it is the working folder. */
  static Collection<String> places(Map<String, String> environment, String local) {
    Set<String> places = new LinkedHashSet<>();
    places.add(System.getProperty("java.io.tmpdir", ""));
    // YARN gives its containers the second.
    Stream.of(environment.get("SPARK_LOCAL_DIRS"), environment.get("LOCAL_DIRS"), local)
        .filter(Objects::nonNull)
        .flatMap(several -> Stream.of(several.split(",")))
        .map(String::trim)
        .filter(one -> !one.isEmpty())
        .forEach(places::add);
    places.add("");
    return places;
  }

  /** Creates one in the first folder that takes it; without a name it is the working folder. */
  static Path first(Collection<String> places, String name) throws IOException {
    IOException refused = null;
    List<String> reasons = new ArrayList<>();
    for (String place : places) {
      try {
        return in(Path.of(place), name);
      } catch (IOException | InvalidPathException e) {
        refused = e instanceof IOException ? (IOException) e : refused;
        reasons.add((place.isEmpty() ? "the working folder" : place) + ": " + reason(e));
      }
    }
    throw new IOException(
        "this JVM records nothing, as no folder takes its records ("
            + String.join("; ", reasons)
            + "): give it one that it can write to, by -Djava.io.tmpdir=FOLDER in"
            + " spark.executor.extraJavaOptions (of a driver, spark.driver.extraJavaOptions) or by"
            + " spark.local.dir",
        refused);
  }

  private static String reason(Exception failure) {
    boolean named = failure instanceof FileSystemException;
    String said = named ? ((FileSystemException) failure).getReason() : failure.getMessage();
    String kind = failure.getClass().getSimpleName();
    return said == null ? kind : kind + ", " + said;
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
