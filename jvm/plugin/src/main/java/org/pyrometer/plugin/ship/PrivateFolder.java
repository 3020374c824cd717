package org.pyrometer.plugin.ship;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Folders and programs that only this user can reach, below a folder that anybody may write to. */
public final class PrivateFolder {
  private static final FileAttribute<?> OURS =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private PrivateFolder() {}

  /**
   * Creates one in the folder for temporary files, or else in the working folder.
   *
   * @param application its id, of which only plain characters become part of the name
   * @param executor the same
   * @throws IOException if neither can be written
   */
  public static Path create(String application, String executor) throws IOException {
    String name = "pyrometer-" + plain(application) + "-" + plain(executor) + "-";
    try {
      return Files.createTempDirectory(name, OURS).toAbsolutePath();
    } catch (IOException e) {
      return in(Path.of(""), name);
    }
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
