package org.pyrometer.plugin.codegen;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.pyrometer.plugin.records.Json;
import org.pyrometer.plugin.records.Secrets;

/** A text that Spark's code generator compiled, and what its compiler said of it. */
public final class GeneratedSource {
  /** Where a user's text stands in code; all else is the generator's own. */
  private static final Pattern LITERAL = Pattern.compile("\"(?:[^\"\\\\\\n]|\\\\.)*+\"");

  private final String body;
  private final Map<String, String> comments;
  private final int[] sizes;

  /**
   * One source.
   *
   * @param body what was compiled
   * @param comments text of the placeholders in the body, by name
   * @param sizes the largest method's bytes, constants, inner classes; -1 where not known
   */
  public GeneratedSource(String body, Map<String, String> comments, int[] sizes) {
    this.body = body;
    this.comments = comments;
    this.sizes = sizes;
  }

  /** A number that is the same for the same body (FNV-1a, 64 bit). */
  public long fingerprint() {
    long hash = 0xcbf29ce484222325L;
    for (int i = 0; i < body.length(); i++) {
      hash = (hash ^ body.charAt(i)) * 0x100000001b3L;
    }
    return hash;
  }

  /** Characters of body and comments: a record takes at least as many bytes. */
  public long length() {
    long sum = body.length();
    for (String comment : comments.values()) {
      sum += comment.length();
    }
    return sum;
  }

  /** Appends record {@code source}, without secrets. */
  public void format(StringBuilder out, long number, long seenNs) {
    Map<String, String> said = new HashMap<>(comments);
    said.replaceAll((name, text) -> Secrets.text(text));
    new Json(out)
        .open("source")
        .put("n", number)
        .put("mono_ns", seenNs)
        .put("body", withoutSecrets(body))
        .put("comments", said)
        .putKnown("max_method_bytes", sizes[0])
        .putKnown("max_constants", sizes[1])
        .putKnown("inner_classes", sizes[2])
        .close();
  }

  private static String withoutSecrets(String code) {
    return LITERAL
        .matcher(code)
        .replaceAll(literal -> Matcher.quoteReplacement(Secrets.text(literal.group())));
  }
}
