package org.pyrometer.plugin.hooks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.pyrometer.plugin.config.Settings;

class OverlayTest {
  private static final Path JAR = Path.of("/opt/py/pyrometer-plugin.jar");
  private static final String PLUGIN = "org.pyrometer.plugin.PyrometerPlugin";
  private static final Pattern DECISION =
      Pattern.compile("\"key\":\"([^\"]+)\",\"value\":(.*),\"how\":\"(\\w+)\",\"reason\"");

  private Path jar = JAR;
  private String last = "";
  private final Map<String, String> conf = new HashMap<>(Map.of("spark.master", "local[2]"));

  /** Applies rules; gives "how" by key. */
  private Map<String, String> apply(Map<String, String> rules) {
    List<String> lines = new ArrayList<>();
    new Overlay(Settings.of(rules), jar, folder -> !folder.contains("denied"))
        .apply(
            new Overlay.Conf() {
              @Override
              public String get(String key) {
                return conf.get(key);
              }

              @Override
              public void set(String key, String value) {
                conf.put(key, value);
              }
            },
            event -> {
              StringBuilder out = new StringBuilder();
              event.format(out);
              lines.add(out.toString());
            });
    Map<String, String> decisions = new HashMap<>();
    for (String line : lines) {
      Matcher decision = DECISION.matcher(line);
      assertTrue(decision.find(), line);
      decisions.put(decision.group(1), decision.group(3));
      last = line;
    }
    return decisions;
  }

  @Test
  void theUsersPluginsStayAndOursIsAddedOnce() {
    conf.put("spark.plugins", "a.B,c.D");
    assertEquals(Map.of("spark.plugins", "appended"), apply(Map.of()));
    assertEquals("a.B,c.D," + PLUGIN, conf.get("spark.plugins"));
    assertEquals(Map.of("spark.plugins", "kept_user"), apply(Map.of()));
    assertEquals("a.B,c.D," + PLUGIN, conf.get("spark.plugins"));
  }

  @Test
  void withoutPluginsOursIsTheOnlyOne() {
    assertEquals(Map.of("spark.plugins", "set"), apply(Map.of()));
    assertEquals(PLUGIN, conf.get("spark.plugins"));
  }

  @Test
  void pluginOffLeavesTheListAlone() {
    assertEquals(Map.of(), apply(Map.of("plugin", "off")));
    assertNull(conf.get("spark.plugins"));
  }

  @Test
  void scalarsAreTheUsers() {
    conf.put("spark.a", "1");
    Map<String, String> decisions =
        apply(Map.of("plugin", "off", "conf.spark.a", "2", "conf.spark.b", "3"));
    assertEquals(Map.of("spark.a", "kept_user", "spark.b", "set"), decisions);
    assertEquals("1", conf.get("spark.a"));
    assertEquals("3", conf.get("spark.b"));
  }

  @Test
  void noReasonTellsASecretOfTheUsers() {
    for (String how : List.of("force.", "conf.")) {
      conf.put("spark.my.password", "hunter2");
      apply(Map.of("plugin", "off", how + "spark.my.password", "hunter22"));
      assertFalse(last.contains("hunter2"), last);
    }
    conf.put("spark.executor.extraJavaOptions", "-Dmy.token=mine");
    apply(Map.of("plugin", "off", "append.spark.executor.extraJavaOptions", "-Dmy.token=hunter2"));
    assertFalse(last.contains("hunter2"), last);
  }

  @Test
  void noPartOfASecretAmongJavaOptionsIsTold() {
    String key = "spark.executor.extraJavaOptions";
    List<String> secrets =
        List.of(
            "-Dy=1 -Dmy.password=ab&hunter2;ef",
            "-Dy=1 \"-Dx.keyStorePassword=correct hunter2\"",
            "-Dy=1 -Dmy.password=ab -Dz='hunter2");
    for (String options : secrets) {
      conf.put(key, options);
      apply(Map.of("plugin", "off", "append." + key, "-XX:+DebugNonSafepoints"));
      assertFalse(last.contains("hunter2"), last);
      assertEquals(!options.contains("'"), last.contains("-Dy=1"), last);
    }
    for (String options : secrets.subList(0, 2)) {
      conf.put(key, "-Dmy.password=a -Dx.keyStorePassword=b");
      apply(Map.of("plugin", "off", "append." + key, options));
      assertTrue(last.contains(Overlay.LEFT_OUT), last);
      assertFalse(last.contains("hunter2"), last);
    }
  }

  @Test
  void javaOptionsAreAppendedByWord() {
    conf.put("spark.executor.extraJavaOptions", "-Dx=1 -XX:+UnlockDiagnosticVMOptions");
    String ours = "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints";
    Map<String, String> rules =
        Map.of("plugin", "off", "append.spark.executor.extraJavaOptions", ours);
    apply(rules);
    apply(rules);
    assertEquals(
        "-Dx=1 -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints",
        conf.get("spark.executor.extraJavaOptions"));
  }

  @Test
  void javaOptionsOfTheApplicationWin() {
    conf.put("spark.executor.extraJavaOptions", "-XX:+UseParallelGC");
    String key = "append.spark.executor.extraJavaOptions";
    Map<String, String> decisions =
        apply(Map.of("plugin", "off", key, "-XX:+UseG1GC --add-opens A --add-opens B"));
    assertEquals(Map.of("spark.executor.extraJavaOptions", "appended"), decisions);
    assertEquals(
        "-XX:+UseParallelGC --add-opens A --add-opens B",
        conf.get("spark.executor.extraJavaOptions"));
    assertTrue(last.contains(Overlay.LEFT_OUT + "-XX:+UseG1GC"), last);
  }

  @Test
  void anEventLogThatCannotBeWrittenIsNotSwitchedOn() {
    Map<String, String> rules = new HashMap<>(logRules());
    rules.put("conf.spark.eventLog.dir", "file:/denied");
    rules.put("force.spark.ui.enabled", "false");
    Map<String, String> decisions = apply(rules);
    assertEquals(
        Map.of("spark.eventLog.enabled", "kept_user", "spark.ui.enabled", "set"), decisions);
    assertNull(conf.get("spark.eventLog.enabled"));
    assertNull(conf.get("spark.eventLog.dir"));
    conf.put("spark.eventLog.dir", "/denied");
    rules.remove("conf.spark.eventLog.dir");
    apply(rules);
    assertNull(conf.get("spark.eventLog.enabled"));
  }

  @Test
  void executorsThatCannotGetTheJarGetNoPlugin() {
    jar = Path.of("/opt/a,b/pyrometer-plugin.jar");
    conf.put("spark.master", "spark://host:7077");
    assertEquals(Map.of("spark.plugins", "kept_user"), apply(Map.of()));
    assertNull(conf.get("spark.plugins"));
    assertNull(conf.get("spark.jars"));
    conf.put("spark.master", "local[2]");
    assertEquals(Map.of("spark.plugins", "set"), apply(Map.of()));
  }

  private static Map<String, String> logRules() {
    return Map.of(
        "plugin", "off",
        "force.spark.eventLog.enabled", "true",
        "conf.spark.eventLog.dir", "file:/run/eventlog",
        "conf.spark.eventLog.compress", "false");
  }

  @Test
  void theEventLogIsOursWhereTheUserHasNone() {
    assertEquals(
        Map.of(
            "spark.eventLog.enabled", "set",
            "spark.eventLog.dir", "set",
            "spark.eventLog.compress", "set"),
        apply(logRules()));
    assertEquals("file:/run/eventlog", conf.get("spark.eventLog.dir"));
  }

  @Test
  void theUsersEventLogIsLeftAsItIs() {
    conf.put("spark.eventLog.enabled", "true");
    conf.put("spark.eventLog.dir", "hdfs://logs");
    Map<String, String> before = Map.copyOf(conf);
    assertEquals(
        Map.of(
            "spark.eventLog.enabled", "kept_user",
            "spark.eventLog.dir", "kept_user",
            "spark.eventLog.compress", "kept_user"),
        apply(logRules()));
    assertEquals(before, conf);
  }

  @Test
  void anEventLogThatIsOffIsForcedIntoOurFolder() {
    conf.put("spark.eventLog.enabled", "false");
    conf.put("spark.eventLog.dir", "hdfs://logs");
    assertEquals(
        Map.of(
            "spark.eventLog.enabled", "forced",
            "spark.eventLog.dir", "forced",
            "spark.eventLog.compress", "set"),
        apply(logRules()));
    assertEquals("true", conf.get("spark.eventLog.enabled"));
    assertEquals("file:/run/eventlog", conf.get("spark.eventLog.dir"));
  }

  @Test
  void executorsGetTheJar() {
    conf.put("spark.master", "local-cluster[2,1,1024]");
    conf.put("spark.executor.extraClassPath", "/user.jar");
    apply(Map.of());
    assertEquals("/user.jar:" + JAR, conf.get("spark.executor.extraClassPath"));
    assertNull(conf.get("spark.jars"));

    conf.put("spark.master", "spark://host:7077");
    conf.put("spark.jars", "hdfs://x.jar");
    apply(Map.of());
    assertEquals("hdfs://x.jar,file://" + JAR, conf.get("spark.jars"));
  }

  @Test
  void localModeNeedsNoJar() {
    apply(Map.of());
    assertNull(conf.get("spark.jars"));
    assertNull(conf.get("spark.executor.extraClassPath"));
  }
}
