package org.pyrometer.plugin.codegen;

import java.util.Map;
import scala.collection.JavaConverters;

/** As Spark's class of this name. */
public final class CodeAndComment {
  private final String body;
  private final Map<String, String> comments;

  CodeAndComment(String body, Map<String, String> comments) {
    this.body = body;
    this.comments = comments;
  }

  /** What is compiled. */
  public String body() {
    return body;
  }

  /** Texts of its placeholders. */
  public scala.collection.Map<String, String> comment() {
    return JavaConverters.mapAsScalaMapConverter(comments).asScala();
  }
}
