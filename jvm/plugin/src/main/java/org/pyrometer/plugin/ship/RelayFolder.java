package org.pyrometer.plugin.ship;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The folder through which the agent hands over chunks that it cannot put itself.
 *
 * <p>The agent leaves {@code N.chunk}: the chunk's name in the store, a newline, and the chunk.
 * Whoever puts it there answers by removing that file; if it did not get there, after leaving
 * {@code N.failed} with the reason. Whatever is killed meanwhile, the agent hands over again what
 * has no answer.
 */
final class RelayFolder {
  /** With a dot in front, the agent does not ship it. */
  static final String NAME = ".relay";

  private static final String CHUNK = ".chunk";
  private static final String FAILED = ".failed";

  /** More than the largest chunk: 16 MiB of payload, 64 KiB of header, and its name. */
  private static final long MOST_BYTES = 18L << 20;

  /** A name as agents give them: nothing that leads elsewhere. */
  private static final Pattern KEY =
      Pattern.compile("(?:[A-Za-z0-9_%-][A-Za-z0-9_.%-]{0,254}/){0,15}[0-9]{12,20}\\.chunk");

  private final Path folder;

  /** The one in a folder that is shipped; made if it is not there. */
  RelayFolder(Path shipped) throws IOException {
    folder = shipped.toAbsolutePath().resolve(NAME);
    try {
      Files.createDirectory(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    } catch (FileAlreadyExistsException e) {
      if (!Files.isDirectory(folder)) {
        throw e;
      }
    }
  }

  /** What an agent is told as its store. */
  String address() {
    return "relay://" + folder;
  }

  /** Names of what waits, in the order in which it was left. */
  List<String> waiting() throws IOException {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + CHUNK)) {
      files.forEach(file -> names.add(file.getFileName().toString()));
    }
    Collections.sort(names);
    return names;
  }

  /**
   * Takes what was left under a name.
   *
   * @throws NoSuchFileException if the agent has taken it back
   * @throws IOException if it cannot be read, or is no chunk
   */
  Chunk take(String name) throws IOException {
    Path file = folder.resolve(name);
    if (Files.size(file) > MOST_BYTES) {
      throw new IOException("too large for a chunk");
    }
    byte[] all = Files.readAllBytes(file);
    int end = 0;
    while (end < all.length && all[end] != '\n') {
      end++;
    }
    String key = new String(all, 0, end, UTF_8);
    if (end == all.length || !KEY.matcher(key).matches()) {
      throw new IOException("what was handed over has not the name of a chunk");
    }
    return new Chunk(key, Arrays.copyOfRange(all, end + 1, all.length));
  }

  /** Answers that a chunk has arrived. */
  void arrived(String name) throws IOException {
    Files.deleteIfExists(folder.resolve(name));
  }

  /** Answers that nobody knows whether a chunk has arrived, and why. */
  void failed(String name, String why) throws IOException {
    String base = name.substring(0, name.length() - CHUNK.length());
    Path whole = folder.resolve(base + ".tmp");
    Files.write(whole, why.getBytes(UTF_8));
    Files.move(whole, folder.resolve(base + FAILED), StandardCopyOption.ATOMIC_MOVE);
    arrived(name);
  }

  /** What was handed over. */
  static final class Chunk {
    final String key;
    final byte[] object;

    Chunk(String key, byte[] object) {
      this.key = key;
      this.object = object;
    }
  }
}
