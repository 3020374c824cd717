package org.pyrometer.plugin.records;

/** Something that the writer's thread looks at now and then, and that has a file of its own. */
public interface Watched {
  /** Writes what is new since the last look. */
  void poll();

  /** The last look of an application. */
  void finish();
}
