package org.pyrometer.plugin.hooks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class JavaOptionsTest {
  private static String merged(String theirs, String ours) {
    return new JavaOptions(theirs, ours).text;
  }

  private static List<String> leftOut(String theirs, String ours) {
    return new JavaOptions(theirs, ours).leftOut;
  }

  @Test
  void wordsThatAreRepeatedStay() {
    String opens = "--add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.nio=X";
    assertEquals(opens, merged(null, opens));
    assertEquals("--add-opens a=b " + opens, merged("--add-opens a=b", opens));
    assertEquals("-cp x -cp x", merged("-cp x -cp x", ""));
  }

  @Test
  void theApplicationsOwnTextIsNotTouched() {
    String theirs = "  -Da='b  c'\t-Db=\"x\\\"y\"  ";
    assertEquals(theirs + " -XX:+DebugNonSafepoints", merged(theirs, "-XX:+DebugNonSafepoints"));
  }

  @Test
  void whatIsHeldIsNotAddedAgain() {
    String ours = "-XX:+UnlockDiagnosticVMOptions --add-opens a=b -Dx=\"1 2\"";
    String once = merged("-XX:+UnlockDiagnosticVMOptions -Dy=1", ours);
    assertEquals("-XX:+UnlockDiagnosticVMOptions -Dy=1 --add-opens a=b \"-Dx=1 2\"", once);
    assertEquals(once, merged(once, ours));
    assertFalse(new JavaOptions(once, ours).added);
  }

  @Test
  void ofTwoCollectorsTheApplicationsIsTaken() {
    String ours = "-XX:+UseG1GC -XX:ParallelGCThreads=2 -XX:ConcGCThreads=1 -XX:CICompilerCount=2";
    assertEquals(
        "-XX:+UseParallelGC -XX:ParallelGCThreads=2 -XX:CICompilerCount=2",
        merged("-XX:+UseParallelGC", ours));
    assertEquals(
        List.of("-XX:+UseG1GC", "-XX:ConcGCThreads=1"), leftOut("-XX:+UseParallelGC", ours));
    assertEquals(
        List.of("-XX:ParallelGCThreads=2", "-XX:ConcGCThreads=1"),
        leftOut("-XX:ParallelGCThreads=4", ours));
  }

  @Test
  void ofTwoValuesTheApplicationsIsTaken() {
    assertEquals(List.of("-Xmn1g"), leftOut("-Xmn512m", "-Xmn1g"));
    assertEquals(List.of("-XX:-UseTLAB"), leftOut("-XX:+UseTLAB", "-XX:-UseTLAB"));
    assertEquals(List.of("-Da=2"), leftOut("-Da=1", "-Da=2"));
    assertEquals(List.of(), leftOut("-Da=1 -XX:OnError=a", "-Dab=2 -XX:OnError=b"));
  }

  @Test
  void whatSparkEndsAnApplicationForIsLeftOut() {
    assertEquals("-Dx=1", merged(null, "-Xmx1g -Dspark.a=b -Dx=1"));
    assertEquals(List.of("-Xmx1g", "-Dspark.a=b"), leftOut(null, "-Xmx1g -Dspark.a=b -Dx=1"));
  }

  @Test
  void nothingIsPutBehindAQuoteThatIsOpen() {
    assertEquals("-Da='b", merged("-Da='b", "-Dc=d"));
    assertEquals(List.of("-Dc=d", "-De=f"), leftOut("-Da='b", "-Dc=d -De=f"));
    assertNull(merged(null, "-Da=\"b"));
  }

  @Test
  void wordsAreThoseThatSparkReads() {
    assertEquals(List.of("-Da=b c", "", "d\\e"), JavaOptions.split("-Da='b c'  \"\" d\\e"));
    assertEquals(List.of("a\"b", "c\\d"), JavaOptions.split("\"a\\\"b\"\n'c\\d'"));
    assertEquals(List.of(), JavaOptions.split(" \t\r\n"));
  }

  @Test
  void wordsAreReadAsTheyWereWritten() {
    Random random = new Random(7);
    String alphabet = "ab=-\"'\\ \t\n";
    for (int round = 0; round < 20_000; round++) {
      StringBuilder text = new StringBuilder();
      for (int i = random.nextInt(14); i > 0; i--) {
        text.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      List<String> words = JavaOptions.split(text.toString());
      if (words != null) {
        assertEquals(words, JavaOptions.split(JavaOptions.join(words)));
      }
    }
  }
}
