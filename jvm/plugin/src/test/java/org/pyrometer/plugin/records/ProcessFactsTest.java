package org.pyrometer.plugin.records;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.pyrometer.plugin.host.Host;

class ProcessFactsTest {
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

  @Test
  void placesAreThoseOfTheKernel() throws IOException {
    String status = Files.readString(Path.of("/proc/self/status"));
    String cpus = Host.allowedCpus();
    assertTrue(cpus.matches("[0-9,-]+"), cpus);
    assertTrue(status.contains("Cpus_allowed_list:\t" + cpus + "\n"), cpus);
    String policy = Host.memoryPolicy();
    boolean known = Files.isReadable(Path.of("/proc/self/numa_maps"));
    assertEquals(known, policy != null);
    assertFalse(known && policy.isEmpty());
    StringBuilder out = new StringBuilder();
    new ProcessFacts("driver", "driver", Map.of()).format(out);
    assertTrue(out.toString().contains("\"cpus_allowed\":\"" + cpus + "\""), out.toString());
  }
}
