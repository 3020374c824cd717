package org.pyrometer.plugin.records;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Redacts secrets from what is recorded. Names are judged by Spark's own pattern ({@code
 * spark.redaction.regex}, its default) and by more that it lets through; values by passwords in
 * addresses and by names in what is assigned inside them ({@code -Dmy.password=x}).
 */
public final class Secrets {
  /** Spark's word for it. */
  public static final String REDACTED = "*********(redacted)";

  private static final String NAMES =
      "(?:secret|passw(?:or)?d|pass[_-]?word|passphrase|token|pwd|credential|signature"
          + "|(?:access|api|account|private|encryption)[._-]?key|auth[._-]?header"
          + "|(?<![a-z])sas(?![a-z]))";
  private static final String CHARACTERS = "[\\w.$-]{0,200}+";
  private static final Pattern NAME = Pattern.compile("(?i)" + NAMES);
  private static final Pattern ASSIGNED =
      Pattern.compile(
          "(?i)(?<![\\w.$-])([\\w.$-]{0,200}?"
              + NAMES
              + CHARACTERS
              + "\\s{0,8}[=:]\\s{0,8})(?!\\*{9}\\(redacted\\))"
              + "(\"[^\"]*+\"|'[^']*+'|[^\\s,;&\"'(){}<>\\[\\]]++)");
  private static final Pattern USER_INFO =
      Pattern.compile("(?i)\\b([a-z][a-z0-9+.-]{0,30}://[^/\\s:@]{0,200}:)[^/\\s@]{1,500}(?=@)");

  private Secrets() {}

  /**
   * The value of a setting as it may be written.
   *
   * @param name the setting
   * @param value its value, or {@code null}
   */
  public static String redacted(String name, String value) {
    if (value == null || value.isEmpty() || name.startsWith("spark.redaction.")) {
      return value;
    }
    return NAME.matcher(name).find() ? REDACTED : text(value);
  }

  /** A text without what is secret in it. */
  public static String text(String text) {
    String kept = USER_INFO.matcher(text).replaceAll("$1" + "\\*".repeat(9) + "(redacted)");
    return ASSIGNED.matcher(kept).replaceAll("$1" + "\\*".repeat(9) + "(redacted)");
  }

  /** Arguments of a JVM, word by word, without what is secret in them. */
  public static List<String> arguments(List<String> arguments) {
    List<String> kept = new ArrayList<>();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      String name = equals > 0 ? argument.substring(0, equals) : "";
      kept.add(
          equals > 0
              ? name + "=" + redacted(name, argument.substring(equals + 1))
              : text(argument));
    }
    return kept;
  }
}
