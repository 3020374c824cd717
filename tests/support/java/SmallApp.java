import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** A small Spark application with a result, a failing job and an exit code of its own. */
public class SmallApp {
  public static void main(String[] words) throws Exception {
    SparkConf conf = new SparkConf().setAppName("small").set("spark.ui.enabled", "false");
    JavaSparkContext context = new JavaSparkContext(conf);
    context.setLocalProperty("spark.sql.execution.id", "3");
    JavaRDD<Integer> numbers = context.parallelize(List.of(1, 2, 3, 4, 5, 6, 7, 8), 4);
    System.out.println("sum " + numbers.map(n -> n * n).reduce(Integer::sum));
    if (words.length > 1) {
      during(words[0], Path.of(words[1]));
    }
    try {
      numbers.foreach(n -> { if (n == 3) throw new IllegalStateException("on purpose"); });
    } catch (Exception e) {
      System.out.println("failed as it should");
    }
    System.out.println("count " + numbers.filter(n -> n % 2 == 0).count());
    context.stop();
    System.exit(7);
  }

  /** What happens to the raw folder while the application runs. */
  private static void during(String what, Path raw) throws Exception {
    if (what.equals("fill")) {
      try (var out = Files.newOutputStream(raw.resolve("fill"))) {
        while (true) {
          out.write(new byte[65536]);
        }
      } catch (java.io.IOException e) {
        System.out.println("full");
      }
    } else if (what.equals("remove")) {
      try (var files = Files.walk(raw)) {
        for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(file);
        }
      }
    }
    Thread.sleep(1200);
  }
}
