package org.pyrometer.plugin.records;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import org.junit.jupiter.api.Test;

class SecretsTest {
  private static final String GONE = Secrets.REDACTED;

  @Test
  void namesSayWhatIsSecret() {
    for (String name :
        List.of(
            "spark.hadoop.fs.s3a.secret.key",
            "spark.ssl.keyPassword",
            "spark.my.token",
            "spark.hadoop.fs.s3a.access.key",
            "a.apiKey",
            "fs.azure.account.key.x.blob",
            "fs.azure.sas.box",
            "SAS",
            "db.passwd",
            "es.auth.pwd")) {
      assertEquals(GONE, Secrets.redacted(name, "hunter22"), name);
    }
    assertEquals("200", Secrets.redacted("spark.sql.shuffle.partitions", "200"));
    assertEquals("9", Secrets.redacted("spark.kansas.sassafras", "9"));
    assertEquals("(?i)token", Secrets.redacted("spark.redaction.regex", "(?i)token"));
    assertNull(Secrets.redacted("spark.my.token", null));
  }

  @Test
  void valuesAreLookedInto() {
    assertEquals(
        "-Dx.password=" + GONE + " -Dy=1",
        Secrets.redacted("spark.driver.extraJavaOptions", "-Dx.password=hunter22 -Dy=1"));
    assertEquals(
        "jdbc:postgresql://bob:" + GONE + "@db/x?password=" + GONE + "&ssl=true",
        Secrets.redacted(
            "my.url", "jdbc:postgresql://bob:hunter22@db/x?password=hunter22&ssl=true"));
    assertEquals("fs.sas: " + GONE, Secrets.redacted("my.text", "fs.sas: hunter22"));
    assertEquals("fs.sas: " + GONE, Secrets.text("fs.sas: " + GONE), "told twice");
    String harmless = "hdfs://namenode:8020/data/tokens.parquet";
    assertEquals(harmless, Secrets.redacted("my.path", harmless));
  }

  @Test
  void argumentsOfTheJvm() {
    List<String> found =
        Secrets.arguments(
            List.of("-Xmx1g", "-Ddb.password=tiger", "-Da.accessKey=x=y", "-Durl=a://b:tiger@c"));
    assertEquals(
        List.of(
            "-Xmx1g",
            "-Ddb.password=" + GONE,
            "-Da.accessKey=" + GONE,
            "-Durl=a://b:" + GONE + "@c"),
        found);
  }

  @Test
  void aLongValueTakesNoLonger() {
    for (String part : List.of("password", "token=", "a://", "-", "x.y$")) {
      long began = System.nanoTime();
      String text = part.repeat(100_000 / part.length());
      Secrets.redacted("a", text);
      assertFalse(System.nanoTime() - began > 20_000_000_000L, part);
    }
  }
}
