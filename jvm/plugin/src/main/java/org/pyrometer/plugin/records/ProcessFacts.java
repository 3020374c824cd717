package org.pyrometer.plugin.records;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.RuntimeMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.pyrometer.plugin.host.Clocks;
import org.pyrometer.plugin.host.Host;

/** Record {@code process}: which JVM this is. */
public final class ProcessFacts implements Event {
  private final String role;
  private final String executorId;
  private final Map<String, String> application;
  private final long monoNs;
  private final long wallNs;

  /**
   * Facts as of now.
   *
   * @param role {@code "driver"}, or {@code "executor"}
   * @param executorId Spark's id of the executor, {@code driver} for the driver
   * @param application {@code app_id}, {@code app_name}, {@code spark_version}, {@code master},
   *     {@code ship_to}, {@code run_id}; what is not known yet is absent
   */
  public ProcessFacts(String role, String executorId, Map<String, String> application) {
    this.role = role;
    this.executorId = executorId;
    this.application = application;
    long[] pair = Clocks.pair();
    this.monoNs = pair[0];
    this.wallNs = pair[1];
  }

  @Override
  public String kind() {
    return "process";
  }

  @Override
  public void format(StringBuilder out) {
    RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
    List<String> collectors = new ArrayList<>();
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      collectors.add(collector.getName());
    }
    new Json(out)
        .open(kind())
        .put("role", role)
        .put("executor_id", executorId)
        .put("pid", ProcessHandle.current().pid())
        .put("host", Host.name())
        .put("app_id", application.get("app_id"))
        .put("app_name", application.get("app_name"))
        .put("mono_ns", monoNs)
        .put("wall_ns", wallNs)
        .put("jvm_start_wall_ms", runtime.getStartTime())
        .put("java_version", System.getProperty("java.version"))
        .put("jvm", runtime.getVmName() + " " + runtime.getVmVersion())
        .put("gc_names", collectors)
        .put("max_heap_bytes", Runtime.getRuntime().maxMemory())
        .put("input_arguments", Secrets.arguments(runtime.getInputArguments()))
        .put("spark_version", application.get("spark_version"))
        .put("cpus_count", Runtime.getRuntime().availableProcessors())
        .put("cpus_allowed", Host.allowedCpus())
        .put("memory_policy", Host.memoryPolicy())
        .put("master", application.get("master"))
        .put("ship_to", application.get("ship_to"))
        .put("run_id", application.get("run_id"))
        .close();
  }
}
