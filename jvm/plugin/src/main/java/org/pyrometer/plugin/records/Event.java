package org.pyrometer.plugin.records;

/** A record on its way to the file. It is formatted on the writer's thread. */
public interface Event {
  /** Value of field {@code k}. */
  String kind();

  /** Appends the record as one line of JSON. */
  void format(StringBuilder out);
}
