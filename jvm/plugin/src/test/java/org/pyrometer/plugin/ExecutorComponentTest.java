package org.pyrometer.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.resource.ResourceInformation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.jvm.Jvm;
import org.pyrometer.plugin.records.Secrets;
import org.pyrometer.plugin.tasks.FakeTasks;

class ExecutorComponentTest {
  /** An executor on some host. */
  private static final class FakeContext implements PluginContext {
    final List<Object> sent = new ArrayList<>();

    @Override
    public MetricRegistry metricRegistry() {
      return new MetricRegistry();
    }

    @Override
    public SparkConf conf() {
      // Setting a value would need Hadoop on the class path.
      return new SparkConf(false) {
        private static final long serialVersionUID = 1;

        @Override
        public String get(String key, String fallback) {
          return Map.of("spark.app.id", "app-9", "spark.redaction.regex", "(?i)plum")
              .getOrDefault(key, fallback);
        }
      };
    }

    @Override
    public String executorID() {
      return "3";
    }

    @Override
    public String hostname() {
      return "there";
    }

    @Override
    public Map<String, ResourceInformation> resources() {
      return Map.of();
    }

    @Override
    public void send(Object message) {
      sent.add(message);
    }

    @Override
    public Object ask(Object message) {
      return message.equals(RoundTrips.QUESTION) ? 77L : null;
    }
  }

  @Test
  void withoutSettingsItDoesNothingAndHarmsNothing() {
    ExecutorComponent component = new ExecutorComponent();
    component.init(null, null);
    component.init(new FakeContext(), Map.of());
    component.onTaskStart();
    component.onTaskSucceeded();
    component.onTaskFailed(null);
    component.shutdown();
  }

  @Test
  void whereTheRawFolderIsMissingTheDriverIsToldTheOther(@TempDir Path folder) throws IOException {
    Agent.premain("/nowhere/agent.properties", null);
    FakeContext context = new FakeContext();
    ExecutorComponent component = new ExecutorComponent();
    Path missing = folder.resolve("plum=elsewhere");
    component.init(
        context, Settings.packed(Map.of("raw.dir", missing.toString(), "app_name", "x")));
    FakeTasks.enter(1, 0, 5, Map.of());
    component.onTaskStart();
    FakeTasks.leave();
    component.onTaskFailed(null);
    Path used = Jvm.current().folder();
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          while (!records(used).contains("\"driver_mono_ns\":77,")) {
            Thread.sleep(5);
          }
        });
    component.shutdown();

    assertEquals(1, context.sent.size(), context.sent.toString());
    assertTrue(context.sent.get(0).toString().startsWith("executor 3"), context.sent.toString());
    String message = (String) context.sent.get(0);
    assertTrue(message.contains("cannot write to " + missing), message);
    assertTrue(message.contains(used.toString()), message);
    String records = records(used);
    assertTrue(records.contains("\"app_id\":\"app-9\",\"app_name\":\"x\""), records);
    assertTrue(records.contains("\"task\":5"), records);
    assertTrue(records.contains("\"ok\":false"), records);
    assertTrue(records.contains("/plum=" + Secrets.REDACTED), records);
    Secrets.learn("(?!)", null);
    // What failed before there was a file is in it as well.
    assertTrue(records.contains("{\"k\":\"error\",\"where\":\"agent\""), records);
    Files.delete(only(used));
    Files.delete(used);
  }

  private static String records(Path folder) throws IOException {
    return Files.readString(only(folder));
  }

  private static Path only(Path folder) throws IOException {
    try (var found = Files.list(folder)) {
      List<Path> files = found.toList();
      assertEquals(1, files.size());
      return files.get(0);
    }
  }
}
