package org.pyrometer.plugin.hooks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Options of a JVM in one Spark setting: the application's unchanged, ours after them.
 *
 * <p>Of two collectors, or two values of one flag, a JVM takes the last or does not start at all:
 * where the application has one, ours is left out.
 */
final class JavaOptions {
  private static final Pattern COLLECTOR =
      Pattern.compile(
          "-XX:\\+Use(G1|Parallel|ParallelOld|Serial|Z|Shenandoah|Epsilon|ConcMarkSweep)GC");
  private static final Pattern FLAG =
      Pattern.compile(
          "(-XX:)[-+]?(\\w+)(?:=.*)?|(-D)([^=]+)(?:=.*)?|(-X(?:mn|ms|mx|ss))(\\w*)",
          Pattern.DOTALL);

  /** Flags that add to each other. */
  private static final Set<String> REPEATED =
      Set.of(
          "-XX:CompileCommand",
          "-XX:CompileOnly",
          "-XX:OnError",
          "-XX:OnOutOfMemoryError",
          "-XX:StartFlightRecording");

  /** What Spark ends an application for that has it among the options of executors. */
  private static final List<String> REFUSED = List.of("-Dspark", "-Xmx");

  private static final String COLLECTORS = "the collector";
  private static final String GC_THREADS = "-XX:ParallelGCThreads";
  private static final String CONCURRENT_THREADS = "-XX:ConcGCThreads";

  /** The setting with ours in it; the application's own where nothing is added. */
  final String text;

  /** Options of ours that the application says otherwise. */
  final List<String> leftOut = new ArrayList<>();

  /** Whether anything was added. */
  final boolean added;

  /**
   * Merges options.
   *
   * @param theirs the application's setting; may be null
   * @param ours the options to add, quoted as Spark reads them
   */
  JavaOptions(String theirs, String ours) {
    List<String> asked = split(ours);
    List<String> own = theirs == null ? List.of() : split(theirs);
    if (own == null || asked == null) {
      // After an unclosed quote everything would be part of the application's word.
      leftOut.addAll(asked == null ? List.of(ours) : asked);
      text = theirs;
      added = false;
      return;
    }
    boolean held = Collections.indexOfSubList(own, asked) >= 0;
    List<String> kept = held ? List.of() : merge(own, asked);
    // The second application of a JVM may already have the options added to the first.
    added = Collections.indexOfSubList(own, kept) < 0;
    if (!added) {
      text = theirs;
      return;
    }
    String more = kept.size() == asked.size() ? ours.trim() : join(kept);
    text = own.isEmpty() ? more : theirs + " " + more;
  }

  private List<String> merge(List<String> own, List<String> asked) {
    Set<String> words = new HashSet<>(own);
    Set<String> settled = new HashSet<>();
    for (String word : own) {
      String flag = flag(word);
      if (flag != null) {
        settled.add(flag);
      }
    }
    if (settled.contains(COLLECTORS) || settled.contains(GC_THREADS)) {
      // A number that conflicts with theirs keeps a JVM from starting.
      settled.add(CONCURRENT_THREADS);
    }
    List<String> kept = new ArrayList<>();
    for (String word : asked) {
      String flag = flag(word);
      if (REFUSED.stream().anyMatch(word::contains)) {
        leftOut.add(word);
      } else if (flag == null || !settled.contains(flag)) {
        kept.add(word);
      } else if (!words.contains(word)) {
        leftOut.add(word);
      }
    }
    return kept;
  }

  /** What an option sets; null for one that may be given more than once. */
  private static String flag(String word) {
    if (COLLECTOR.matcher(word).matches()) {
      return COLLECTORS;
    }
    Matcher matcher = FLAG.matcher(word);
    if (!matcher.matches()) {
      return null;
    }
    for (int kind = 1; kind <= 3; kind += 2) {
      if (matcher.group(kind) != null) {
        String name = matcher.group(kind) + matcher.group(kind + 1);
        return REPEATED.contains(name) ? null : name;
      }
    }
    return matcher.group(5);
  }

  /** The words of a setting as Spark reads them; null if a quote is not closed. */
  static List<String> split(String text) {
    List<String> words = new ArrayList<>();
    StringBuilder word = null;
    char quote = 0;
    for (int i = 0; i < text.length(); i++) {
      char next = text.charAt(i);
      if (quote == 0 && " \t\r\n".indexOf(next) >= 0) {
        if (word != null) {
          words.add(word.toString());
        }
        word = null;
        continue;
      }
      word = word == null ? new StringBuilder() : word;
      if (quote == '"' && next == '\\' && i + 1 < text.length()) {
        word.append(text.charAt(++i));
      } else if (next == quote) {
        quote = 0;
      } else if (quote == 0 && (next == '"' || next == '\'')) {
        quote = next;
      } else {
        word.append(next);
      }
    }
    if (word != null) {
      words.add(word.toString());
    }
    return quote == 0 ? words : null;
  }

  /** Words as a setting that Spark's readers split into the same. */
  static String join(List<String> words) {
    StringBuilder text = new StringBuilder();
    for (String word : words) {
      text.append(text.length() == 0 ? "" : " ");
      if (!word.isEmpty() && !Pattern.compile("[\\s\"'\\\\]").matcher(word).find()) {
        text.append(word);
      } else {
        text.append('"').append(word.replace("\\", "\\\\").replace("\"", "\\\"")).append('"');
      }
    }
    return text.toString();
  }
}
