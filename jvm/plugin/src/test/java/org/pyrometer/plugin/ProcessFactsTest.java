package org.pyrometer.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProcessFactsTest {
  @Test
  void secretsAreStruckOut() {
    assertEquals(
        List.of("-Xmx1g", "-Ddb.password=*********(redacted)", "-Da.accessKey=*********(redacted)"),
        ProcessFacts.withoutSecrets(List.of("-Xmx1g", "-Ddb.password=tiger", "-Da.accessKey=x=y")));
  }

  @Test
  void unknownFactsAreNull() {
    StringBuilder out = new StringBuilder();
    new ProcessFacts("driver", "driver", Map.of("app_name", "a\"b")).format(out);
    String line = out.toString();
    assertTrue(
        line.startsWith("{\"k\":\"process\",\"role\":\"driver\",\"executor_id\":\"driver\""));
    assertTrue(line.contains("\"app_id\":null,\"app_name\":\"a\\\"b\""), line);
    assertTrue(line.contains("\"pid\":" + ProcessHandle.current().pid()));
  }
}
