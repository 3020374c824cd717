package org.pyrometer.plugin.records;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Redacts secrets from what is recorded. Names are judged by Spark's own pattern ({@code
 * spark.redaction.regex}, the user's and its default) and by more that it lets through; values by
 * passwords in addresses, by what is assigned to such names inside them ({@code -Dmy.password=x}),
 * and by the shapes of well-known keys.
 */
public final class Secrets {
  /** Spark's word for it. */
  public static final String REDACTED = "*********(redacted)";

  /** Setting of Spark with the user's pattern of names. */
  public static final String NAMES_KEY = "spark.redaction.regex";

  /** The same of texts. */
  public static final String TEXTS_KEY = "spark.redaction.string.regex";

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
  // Quotes in a literal of a program are escaped; those in such a value, once more.
  private static final String IN_LITERAL =
      "\\\\\"(?:[^\"\\\\\\n]|\\\\{3}\"|\\\\{2}|\\\\[^\"\\\\])*+\\\\\"|\\\\{1,15}+\"[^\"\\n]*+\"?";
  private static final String VALUE =
      "(?:"
          + IN_LITERAL
          + "|\"[^\"]*+\"|'[^']*+'|(?:[^\\s,;&\"'(){}<>\\[\\]\\\\]++|\\\\[^\\s\"'])++)";
  private static final Pattern NAME = Pattern.compile("(?i)" + NAMES);
  private static final Pattern BRIEFLY = Pattern.compile("(?i)" + BRIEF + "$");
  private static final Pattern KEY =
      Pattern.compile("(?<![\\w.$-])([\\w.$-]++)\\s{0,8}[=:]\\s{0,8}" + UNTOLD);
  private static final Pattern OF_KEY = Pattern.compile(VALUE);
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

  /** What the user calls a secret as well; null where nothing is. */
  private static volatile Pattern userNames;

  private static volatile Pattern userTexts;

  private Secrets() {}

  /**
   * Redacts by the user's patterns as well, from here on. What is no pattern is passed over: Spark
   * itself refuses it.
   *
   * @param names value of {@link #NAMES_KEY}, or null
   * @param texts value of {@link #TEXTS_KEY}, or null
   */
  public static void learn(String names, String texts) {
    userNames = learnt(names, userNames);
    userTexts = learnt(texts, userTexts);
  }

  private static Pattern learnt(String pattern, Pattern before) {
    try {
      return pattern == null || pattern.isEmpty() ? before : Pattern.compile(pattern);
    } catch (PatternSyntaxException e) {
      return before;
    }
  }

  /**
   * A pattern for Spark's own redaction, which looks for it in names and values of settings.
   *
   * @param users the user's value of {@link #NAMES_KEY}, or null; ours holds Spark's default
   */
  public static String pattern(String users) {
    Stream<String> ours =
        Stream.concat(Stream.of(NAME, BRIEFLY), RULES.stream()).map(Pattern::pattern);
    return Stream.concat(Stream.ofNullable(users).filter(said -> !said.isEmpty()), ours)
        .collect(Collectors.joining(")|(?:", "(?:", ")"));
  }

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
    Pattern more = userNames;
    boolean secret =
        NAME.matcher(name).find()
            || (more != null && more.matcher(name).find())
            || (BRIEFLY.matcher(name).find() && !NUMBER.matcher(value).matches());
    return secret ? REDACTED : text(value);
  }

  /** A text without what is secret in it; lines keep their numbers. */
  public static String text(String text) {
    String kept = text;
    for (Pattern rule : RULES) {
      kept = rule.matcher(kept).replaceAll(found -> struck(found, found.group(1)));
    }
    Pattern names = userNames;
    kept = names == null ? kept : assigned(kept, names);
    Pattern texts = userTexts;
    return texts == null ? kept : texts.matcher(kept).replaceAll(found -> struck(found, ""));
  }

  /** A text without what is assigned to names that the user calls secret. */
  private static String assigned(String text, Pattern names) {
    Matcher key = KEY.matcher(text);
    Matcher value = OF_KEY.matcher(text);
    StringBuilder kept = new StringBuilder();
    int done = 0;
    // The value of a name that says nothing may be a pair itself, and is looked at again.
    for (boolean found = key.find(); found; found = key.find()) {
      if (names.matcher(key.group(1)).find()
          && value.region(key.end(), text.length()).lookingAt()) {
        kept.append(text, done, key.end()).append(REDACTED).append(newlines(value.group()));
        done = value.end();
        key.region(done, text.length());
      }
    }
    return done == 0 ? text : kept.append(text, done, text.length()).toString();
  }

  /** What stands in place of a secret, behind that which stays of the text. */
  private static String struck(MatchResult found, String stays) {
    String struck = found.group().substring(stays.length());
    return Matcher.quoteReplacement(stays + REDACTED) + newlines(struck);
  }

  /** The ends of lines of a text. */
  private static String newlines(String text) {
    return "\n".repeat((int) text.chars().filter(c -> c == '\n').count());
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
