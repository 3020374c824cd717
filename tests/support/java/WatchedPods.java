import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodList;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.cluster.k8s.ExecutorPodsSnapshotsStoreImpl;
import org.apache.spark.scheduler.cluster.k8s.KubernetesClusterSchedulerBackend;
import org.apache.spark.util.SystemClock;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.pods.PodWatch;
import org.pyrometer.plugin.records.Recorder;

/**
 * Gives Spark's own store of pods those of a list, one after another, and prints what the plugin
 * notes of them.
 */
public final class WatchedPods {
  private WatchedPods() {}

  /** As Spark's backend, which needs a cluster. */
  private static final class Backend {
    @SuppressWarnings("unused")
    private final ExecutorPodsSnapshotsStoreImpl snapshotsStore;

    Backend(ExecutorPodsSnapshotsStoreImpl store) {
      this.snapshotsStore = store;
    }
  }

  /** The list is a file, as the API answers. */
  public static void main(String[] arguments) throws Exception {
    KubernetesClusterSchedulerBackend.class.getDeclaredField("snapshotsStore");
    ScheduledExecutorService none = Executors.newSingleThreadScheduledExecutor();
    ExecutorPodsSnapshotsStoreImpl store =
        new ExecutorPodsSnapshotsStoreImpl(none, new SystemClock(), new SparkConf());
    Recorder recorder =
        new Recorder(
            System.out::write,
            Settings.of(Map.of("mx.interval.ms", "0", "clock.interval.ms", "0")));
    PodWatch watch = new PodWatch(new Backend(store), "spark-7", null, recorder);
    recorder.start();
    String list = Files.readString(Path.of(arguments[0]));
    for (Pod pod : Serialization.unmarshal(list, PodList.class).getItems()) {
      store.updatePod(pod);
      watch.run();
    }
    recorder.finish();
    System.out.flush();
    none.shutdownNow();
  }
}
