package org.pyrometer.plugin.records;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.regex.Pattern;
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
            "DB_PASS",
            "my.passcode",
            "AZURE_STORAGE_KEY",
            "a".repeat(300) + ".password." + "b".repeat(300),
            "es.auth.pwd")) {
      assertEquals(GONE, Secrets.redacted(name, "hunter22"), name);
    }
    assertEquals("2", Secrets.redacted("spark.my.pass", "2"));
    assertEquals("hunter22", Secrets.redacted("spark.bypass", "hunter22"));
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
  void valuesAreKnownByTheirShapes() {
    for (String secret :
        List.of(
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_" + "a1B2".repeat(9),
            "hvs." + "a1B2".repeat(6),
            "ya29.a0" + "a1B2".repeat(6),
            "npm_" + "a1B2".repeat(9),
            "SG." + "a1B2".repeat(5) + "." + "c3D4".repeat(10),
            "sk_test_" + "a1B2".repeat(6),
            "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl")) {
      assertEquals("a " + GONE + " b", Secrets.text("a " + secret + " b"));
    }
    assertEquals(
        "https://hooks.slack.com/services/" + GONE,
        Secrets.text("https://hooks.slack.com/services/T012/B345/abcDEF"));
    assertEquals("https://h/x?sv=1&sig=" + GONE, Secrets.text("https://h/x?sv=1&sig=a2Sig%3D"));
    assertEquals("s3a://k:" + GONE + "@bucket/x", Secrets.text("s3a://k:abc/def@bucket/x"));
    assertEquals(
        "jdbc:sqlserver://h;password=" + GONE + ";a=b",
        Secrets.text("jdbc:sqlserver://h;password={hunter;2x};a=b"));
    assertEquals("Authorization: Basic " + GONE, Secrets.text("Authorization: Basic abcdefgh"));
    assertEquals("?pass=" + GONE + "&a=b", Secrets.text("?pass=hunter22&a=b"));
    for (String harmless :
        List.of(
            "http://host:8080/path/user@x",
            "http://[::1]:8080/a@b",
            "pass=2 bypass=x pw=",
            "errMsg.SG.x npm_config_x=1",
            "keys=[key#1], Filter (key = 5)")) {
      assertEquals(harmless, Secrets.text(harmless));
    }
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
  void theUsersPatternsCountAsWell() {
    String text = "plum.x=a1 --conf my.plumage: b2 'fig7' pear=c3";
    assertEquals(text, Secrets.text(text));
    try {
      Secrets.learn("(?i)PLUM", "fig[0-9]");
      Secrets.learn("(", null);
      assertEquals(GONE, Secrets.redacted("my.plum", "x"));
      assertEquals(
          "plum.x=" + GONE + " --conf my.plumage: " + GONE + " '" + GONE + "' pear=c3",
          Secrets.text(text));
      assertEquals(List.of("-Dplum=" + GONE), Secrets.arguments(List.of("-Dplum=x")));
    } finally {
      Secrets.learn("(?!)", "(?!)");
    }
  }

  @Test
  void thePairBehindAnotherIsLookedAtAgain() {
    try {
      Secrets.learn("(?i)plum", null);
      for (String before :
          List.of(
              "java.io.IOException: ", "a=", "a: b=", "conf='a=", "\"", "plum=x, ", "a: \"b\" ")) {
        String struck = before.replace("=x,", "=" + GONE + ",");
        assertEquals(struck + "plum=" + GONE, Secrets.text(before + "plum=x"));
      }
      assertEquals("a=b plum=" + GONE + " b=c", Secrets.text("a=b plum=\"x y\" b=c"));
      assertEquals("plum: " + GONE + "\n\nb", Secrets.text("plum: 'x\ny'\nb"));
      assertEquals("plum=" + GONE, Secrets.text("plum=" + GONE), "told twice");
      assertEquals("pear: plum=", Secrets.text("pear: plum="), "no value");
    } finally {
      Secrets.learn("(?!)", null);
    }
  }

  @Test
  void literalsOfProgramsAreLookedInto() {
    String program = "String s = \"a password=%s b=\\\"c\\\"\";";
    for (String value :
        List.of(
            "\\\"hunter22\\\"",
            "\\\"hunter 22\\\"",
            "\\\"hun\\\\\\\"ter 22\\\"",
            "\\\"hunter\\\\n22\\\"",
            "\\\\\\\"hunter 22\\\\\\\"",
            "hunter22")) {
      assertEquals(String.format(program, GONE), Secrets.text(String.format(program, value)));
    }
    assertEquals("\"x token=" + GONE + "\\\"\"", Secrets.text("\"x token=hunter22\\\"\""));
    assertEquals("token=" + GONE, Secrets.text("token=hunter\\d22\\,x"));
    assertEquals("pw=" + GONE + " ", Secrets.text("pw=\\\"hunter 22\\\" "));
  }

  @Test
  void sparkKnowsOursAsWell() {
    for (String users : new String[] {null, "", "(?i)plum"}) {
      Pattern spark = Pattern.compile(Secrets.pattern(users));
      for (String secret :
          List.of(
              "fs.azure.account.key.x.blob",
              "spark.my.TOKEN",
              "DB_PASS",
              "s3a://k:hunter22@bucket",
              "a AKIAIOSFODNN7EXAMPLE b")) {
        assertTrue(spark.matcher(secret).find(), secret);
      }
      assertFalse(spark.matcher("spark.sql.shuffle.partitions").find());
      assertEquals("(?i)plum".equals(users), spark.matcher("my.Plum").find());
    }
  }

  @Test
  void aLongValueTakesNoLonger() {
    for (String part :
        List.of(
            "password", "token=", "a://", "-", "x.y$", "eyJ-", ";pwd={", "pwd=\\\"", "pwd=\\\\")) {
      long began = System.nanoTime();
      String text = part.repeat(100_000 / part.length());
      Secrets.redacted("a", text);
      assertFalse(System.nanoTime() - began > 20_000_000_000L, part);
    }
  }
}
