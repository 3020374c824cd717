package org.pyrometer.plugin.records;

/** Record {@code error}: a part that failed, without what is secret in its words. */
final class ErrorEvent implements Event {
  private final String where;
  private final String message;
  private final long count;
  private final long monoNs = System.nanoTime();

  ErrorEvent(String where, String message, long count) {
    this.where = where;
    this.message = message;
    this.count = count;
  }

  @Override
  public String kind() {
    return "error";
  }

  @Override
  public void format(StringBuilder out) {
    new Json(out)
        .open(kind())
        .put("where", where)
        .put("message", Secrets.text(message))
        .put("count", count)
        .put("mono_ns", monoNs)
        .close();
  }
}
