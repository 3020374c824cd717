package org.pyrometer.plugin.records;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Redacts secrets from what is recorded. Names are judged by Spark's own pattern ({@code
 * spark.redaction.regex}, its default) and by more that it lets through; values by passwords in
 * addresses, by what is assigned to such names inside them ({@code -Dmy.password=x}), and by the
 * shapes of well-known keys.
 */
public final class Secrets {
  /** Spark's word for it. */
  public static final String REDACTED = "*********(redacted)";

  private static final String NAMES =
      "(?:secret|passw(?:or)?d|pass[_-]?word|passphrase|passcode|(?:key|store)pass|token|pwd"
          + "|credential|signature|(?:access|api|account|private|encryption|storage)[._-]?key"
          + "|auth[._-]?header|(?<![a-z])sas(?![a-z]))";
  // Names that are secret unless the value is a number.
  private static final String BRIEF = "(?:(?<![\\w.$-])|[_.$-]|-D)(?:pass|pw)";
  private static final String WORD = "[\\w.$-]*";
  // All of a word or nothing: to try shorter ones again and again would be quadratic.
  private static final String NAMED = "(?<![\\w.$-])(?>" + WORD + "?" + NAMES + WORD + "+)";
  private static final String UNTOLD = "(?!\\*{9}\\(redacted\\))";
  private static final String VALUE = "(?:\"[^\"]*+\"|'[^']*+'|[^\\s,;&\"'(){}<>\\[\\]]++)";
  private static final Pattern NAME = Pattern.compile("(?i)" + NAMES);
  private static final Pattern BRIEFLY = Pattern.compile("(?i)" + BRIEF + "$");
  private static final Pattern NUMBER = Pattern.compile("[0-9.+-]*|true|false");

  /** What is struck, in this order; a rule's group stays. */
  private static final List<Pattern> RULES =
      List.of(
          rule(
              "(\\b)(?:(?:AKIA|ASIA|AROA)[0-9A-Z]{16}\\b|gh[pousr]_\\w{20,}+|github_pat_\\w{20,}+"
                  + "|glpat-[\\w-]{15,}+|xox[abeprs]-[\\w-]{10,}+|dapi[0-9a-f]{32}\\b"
                  + "|AIza[\\w-]{35}|sk-[\\w-]{20,}+|[rs]k_(?:live|test)_\\w{16,}+|hf_\\w{30,}+"
                  + "|pypi-[\\w-]{40,}+|hv[bs]\\.[\\w-]{20,}+|ya29\\.[\\w-]{20,}+|npm_\\w{30,}+"
                  + "|SG\\.[\\w-]{16,}+\\.[\\w-]{16,}+"
                  + "|(?<!-)eyJ[\\w-]{8,}+\\.[\\w-]{8,}+\\.[\\w-]*+)"),
          rule("(?i)(hooks\\.slack\\.com/(?:services|triggers|workflows)/)[\\w/+-]++"),
          rule("(?i)([?&;]sig=)" + UNTOLD + "[^\\s&;\"'\\\\<>]++"),
          rule("(?i)\\b([a-z][a-z0-9+.-]{0,30}://[^/\\s:@]{0,200}:)[^/\\s@]{1,500}(?=@)"),
          // The password has a slash; host:port/path has none but digits before it.
          rule(
              "(?i)\\b([a-z][a-z0-9+.-]{0,30}://[^/\\s:@\\[]{0,200}:)[0-9]*+[^0-9/\\s@?#,]"
                  + "[^/\\s@?#,]{0,200}+/[^\\s@?#,]{0,200}+(?=@)"),
          rule(
              "(?i)(\\bauthorization\\s{0,8}[:=]\\s{0,8}[\"']?"
                  + "(?:apikey|basic|bearer|token)\\s{1,8})[\\w+/=.~-]{4,}+"),
          rule("(?i)([;?]\\s{0,8}" + NAMED + "\\s{0,8}=\\s{0,8})\\{[^}]{0,200}+\\}"),
          rule("(?i)(" + NAMED + "\\s{0,8}[=:]\\s{0,8})" + UNTOLD + VALUE),
          rule(
              "(?i)("
                  + BRIEF
                  + "=)"
                  + UNTOLD
                  + "(?![0-9.+-]*+(?:[\\s,;&]|$)|true\\b|false\\b)"
                  + VALUE));

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
    boolean secret =
        NAME.matcher(name).find()
            || (BRIEFLY.matcher(name).find() && !NUMBER.matcher(value).matches());
    return secret ? REDACTED : text(value);
  }

  /** A text without what is secret in it. */
  public static String text(String text) {
    String kept = text;
    for (Pattern rule : RULES) {
      kept = rule.matcher(kept).replaceAll("$1" + Matcher.quoteReplacement(REDACTED));
    }
    return kept;
  }

  private static Pattern rule(String pattern) {
    return Pattern.compile(pattern);
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
