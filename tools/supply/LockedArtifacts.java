import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.inject.Inject;
import javax.inject.Named;
import javax.inject.Singleton;
import org.eclipse.aether.RepositorySystemSession;
import org.eclipse.aether.artifact.Artifact;
import org.eclipse.aether.impl.ArtifactResolver;
import org.eclipse.aether.internal.impl.DefaultArtifactResolver;
import org.eclipse.aether.repository.WorkspaceRepository;
import org.eclipse.aether.resolution.ArtifactRequest;
import org.eclipse.aether.resolution.ArtifactResolutionException;
import org.eclipse.aether.resolution.ArtifactResult;
import org.eclipse.sisu.Priority;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the place of Maven's artifact resolver: what it finds, downloaded now or long ago, is handed
 * on only if its SHA-256 is the one in the lock file. Plugins, their dependencies and all POMs come
 * this way too, so nothing is run or read that was not checked.
 *
 * <p>Loaded by {@code mvn.py} with {@code -Dmaven.ext.class.path}. {@code -Dpyrometer.lock} names
 * the file, lines as of {@code sha256sum} with paths as in a local repository; with {@code
 * -Dpyrometer.lock.record=true} lines are added to it instead.
 */
@Named
@Singleton
@Priority(Integer.MAX_VALUE)
public final class LockedArtifacts implements ArtifactResolver {
  private static final Logger LOGGER = LoggerFactory.getLogger(LockedArtifacts.class);
  private static final String LOCK = "pyrometer.lock";
  private static final String RECORD = "pyrometer.lock.record";

  private final ArtifactResolver resolver;
  private final Map<String, String> seen = new ConcurrentHashMap<>();
  private Map<String, String> locked;

  /** Stands before Maven's own resolver. */
  @Inject
  public LockedArtifacts(DefaultArtifactResolver resolver) {
    this.resolver = resolver;
  }

  @Override
  public ArtifactResult resolveArtifact(RepositorySystemSession session, ArtifactRequest request)
      throws ArtifactResolutionException {
    ArtifactResult result = resolver.resolveArtifact(session, request);
    check(session, List.of(result));
    return result;
  }

  @Override
  public List<ArtifactResult> resolveArtifacts(
      RepositorySystemSession session, Collection<? extends ArtifactRequest> requests)
      throws ArtifactResolutionException {
    List<ArtifactResult> results = resolver.resolveArtifacts(session, requests);
    check(session, results);
    return results;
  }

  private void check(RepositorySystemSession session, List<ArtifactResult> results)
      throws ArtifactResolutionException {
    StringBuilder wrong = new StringBuilder();
    for (ArtifactResult result : results) {
      Artifact artifact = result.getArtifact();
      // What this very build makes has no hash yet.
      if (artifact == null
          || artifact.getFile() == null
          || result.getRepository() instanceof WorkspaceRepository) {
        continue;
      }
      try {
        String doubt = doubt(session, artifact);
        if (doubt != null) {
          wrong.append(wrong.length() > 0 ? "\n" : "").append(doubt);
          result.addException(new IOException(doubt));
          // Maven 3.9 reports causes only of artifacts without a file.
          result.setArtifact(artifact.setFile(null));
        }
      } catch (IOException unreadable) {
        LOGGER.error("{}", unreadable.getMessage());
        throw new ArtifactResolutionException(results, unreadable.toString(), unreadable);
      }
    }
    if (wrong.length() > 0) {
      // Maven 3.9 keeps the causes of some refusals, of a POM for one, to itself.
      LOGGER.error("{}", wrong);
      throw new ArtifactResolutionException(results, wrong.toString());
    }
  }

  /** What is wrong with an artifact, or null; or, while recording, adds it to the lock file. */
  private String doubt(RepositorySystemSession session, Artifact artifact) throws IOException {
    Object file = session.getConfigProperties().get(LOCK);
    if (file == null) {
      throw new IOException("missing: -D" + LOCK + ". Use tools/supply/mvn.py");
    }
    Path lock = Path.of(file.toString());
    String path = session.getLocalRepositoryManager().getPathForLocalArtifact(artifact);
    String known = seen.get(path);
    String found = known != null ? known : sha256(artifact.getFile());
    seen.put(path, found);
    if ("true".equals(session.getConfigProperties().get(RECORD))) {
      if (known == null) {
        byte[] line = (found + "  " + path + "\n").getBytes(StandardCharsets.UTF_8);
        Files.write(lock, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      }
      return null;
    }
    String expected = locked(lock).get(path);
    if (found.equals(expected)) {
      return null;
    }
    if (expected == null) {
      return String.format("%s is not locked in %s. If it is wanted: make lock.", path, lock);
    }
    return String.format(
        "%s is not what was locked in %s: SHA-256 %s, expected %s. Delete %s and build again; if it"
            + " comes back, the repository serves something else than it did.",
        path, lock, found, expected, artifact.getFile());
  }

  private synchronized Map<String, String> locked(Path lock) throws IOException {
    if (locked == null) {
      Map<String, String> lines = new HashMap<>();
      for (String line : Files.readAllLines(lock)) {
        String[] words = line.split("  ", 2);
        if (words.length < 2) {
          throw new IOException(lock + ": no hash and path: " + line + ". Write it anew: make lock");
        }
        lines.put(words[1], words[0]);
      }
      locked = lines;
    }
    return locked;
  }

  private static String sha256(File file) throws IOException {
    try (InputStream in = Files.newInputStream(file.toPath())) {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] buffer = new byte[1 << 16];
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        digest.update(buffer, 0, n);
      }
      StringBuilder hex = new StringBuilder();
      for (byte each : digest.digest()) {
        hex.append(String.format("%02x", each));
      }
      return hex.toString();
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError(impossible);
    }
  }
}
