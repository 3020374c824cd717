import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Writes where its driver ran, and a sum that its executors made, into a file. */
public class CountApp {
  public static void main(String[] words) throws Exception {
    SparkConf conf = new SparkConf().setAppName("count").set("spark.ui.enabled", "false");
    try (JavaSparkContext context = new JavaSparkContext(conf)) {
      context.sc().listenerBus().addToQueue(new Slow(), "pyrometer");
      int sum = context.parallelize(List.of(1, 2, 3, 4), 4).map(n -> n * n).reduce(Integer::sum);
      String host = InetAddress.getLocalHost().getHostName();
      Files.writeString(Path.of(words[0]), host + " " + sum);
    }
  }

  /** Has events wait in the queue of a driver that ships its log, when the application ends. */
  private static final class Slow extends SparkListener {
    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
      try {
        Thread.sleep(400);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
