package org.pyrometer.plugin.records;

import java.util.Map;

/** Appends one JSON object to a {@link StringBuilder}, without allocating. */
public final class Json {
  private static final String HEX = "0123456789abcdef";

  private final StringBuilder out;

  public Json(StringBuilder out) {
    this.out = out;
  }

  /** Opens the object with its kind. */
  public Json open(String kind) {
    out.append("{\"k\":\"").append(kind).append('"');
    return this;
  }

  /** Closes the object and the line. */
  public void close() {
    out.append("}\n");
  }

  /** Appends a number. */
  public Json put(String name, long value) {
    name(name).append(value);
    return this;
  }

  /** Appends a truth value. */
  public Json put(String name, boolean value) {
    name(name).append(value);
    return this;
  }

  /** Appends a text, or null. */
  public Json put(String name, String value) {
    string(name(name), value);
    return this;
  }

  /** Appends a number that may be unknown: below zero means null. */
  public Json putKnown(String name, long value) {
    if (value < 0) {
      name(name).append("null");
    } else {
      name(name).append(value);
    }
    return this;
  }

  /** Appends a number that comes as text; null if the text is none or not an integer. */
  public Json putInteger(String name, String value) {
    name(name);
    if (isInteger(value)) {
      out.append(value);
    } else {
      out.append("null");
    }
    return this;
  }

  /** Appends a list of texts. */
  public Json put(String name, Iterable<String> values) {
    name(name).append('[');
    String separator = "";
    for (String value : values) {
      out.append(separator);
      string(out, value);
      separator = ",";
    }
    out.append(']');
    return this;
  }

  /** Appends an object of texts. */
  public Json put(String name, Map<String, String> values) {
    name(name).append('{');
    String separator = "";
    for (Map.Entry<String, String> entry : values.entrySet()) {
      out.append(separator);
      string(out, entry.getKey());
      out.append(':');
      string(out, entry.getValue());
      separator = ",";
    }
    out.append('}');
    return this;
  }

  /** Opens the object {@code values}. */
  public Json openValues() {
    name("values").append('{');
    return this;
  }

  /** Appends a reading; one below zero, which the JVM gives for "unknown", is left out. */
  public void value(String name, long value) {
    if (value < 0) {
      return;
    }
    if (out.charAt(out.length() - 1) != '{') {
      out.append(',');
    }
    string(out, name);
    out.append(':').append(value);
  }

  /** Closes the object {@code values}. */
  public Json closeValues() {
    out.append('}');
    return this;
  }

  private StringBuilder name(String name) {
    return out.append(",\"").append(name).append("\":");
  }

  /** Appends a text in quotes, or null. */
  public static void string(StringBuilder out, String value) {
    if (value == null) {
      out.append("null");
      return;
    }
    out.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20 || Character.isSurrogate(c)) {
        out.append("\\u")
            .append(HEX.charAt(c >> 12))
            .append(HEX.charAt((c >> 8) & 15))
            .append(HEX.charAt((c >> 4) & 15))
            .append(HEX.charAt(c & 15));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }

  private static boolean isInteger(String value) {
    if (value == null || value.isEmpty() || value.length() > 18) {
      return false;
    }
    int first = value.charAt(0) == '-' ? 1 : 0;
    // JSON has no leading zeros.
    if (value.length() == first || (value.charAt(first) == '0' && value.length() > first + 1)) {
      return false;
    }
    for (int i = first; i < value.length(); i++) {
      if (value.charAt(i) < '0' || value.charAt(i) > '9') {
        return false;
      }
    }
    return true;
  }
}
