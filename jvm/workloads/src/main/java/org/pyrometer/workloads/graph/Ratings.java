package org.pyrometer.workloads.graph;

import java.util.Arrays;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.graphx.Edge;
import org.apache.spark.graphx.Graph;
import org.apache.spark.graphx.lib.SVDPlusPlus;
import org.apache.spark.graphx.lib.SVDPlusPlus$;
import scala.Tuple2;
import scala.Tuple4;
import scala.util.Random$;

/** GraphX's SVD++ on ratings that lie in text files: user, item and rating, a line each. */
public final class Ratings {
  private static final double LOWEST = 1;
  private static final double HIGHEST = 5;

  private Ratings() {}

  /**
   * Whether this GraphX adds up the corrections of a vertex, recognised by the method that came
   * with the repair: before, it doubled one of the implicit ones and dropped the others
   * (SPARK-58177).
   */
  public static boolean addsCorrections() {
    return Arrays.stream(SVDPlusPlus$.class.getDeclaredMethods())
        .anyMatch(method -> method.getName().equals("combineTrainMessages"));
  }

  /**
   * Trains a model.
   *
   * @param partitions least number of partitions of the ratings
   * @param rate learning rate ({@code gamma1} and {@code gamma2})
   * @param ofBiases regularisation of the biases ({@code gamma6})
   * @param ofFactors regularisation of the factors ({@code gamma7})
   * @param seed of the initial factors
   * @return vertices; mean rating; sum of squared errors on the ratings; sums of squares of the
   *     biases of users, of the biases of items, of the factors of users, of the factors of items
   */
  public static double[] run(
      JavaSparkContext context,
      String path,
      int partitions,
      int iterations,
      int rank,
      double rate,
      double ofBiases,
      double ofFactors,
      long seed) {
    SVDPlusPlus.Conf conf = new Seeded(rank, iterations, rate, ofBiases, ofFactors, seed);
    return Sums.leavingNothingStored(context, () -> train(context, path, partitions, conf));
  }

  private static double[] train(
      JavaSparkContext context, String path, int partitions, SVDPlusPlus.Conf conf) {
    JavaRDD<Edge<Object>> edges = context.textFile(path, partitions).map(Ratings::edge);
    Tuple2<Graph<Tuple4<double[], double[], Object, Object>, Object>, Object> trained =
        SVDPlusPlus.run(edges.rdd(), conf);
    double[] sums =
        trained._1.vertices().toJavaRDD().aggregate(new double[7], Ratings::add, Sums::merge);
    sums[1] = (Double) trained._2;
    return sums;
  }

  /** Users and items are vertices of one graph: even and odd ids. */
  private static Edge<Object> edge(String line) {
    int first = line.indexOf(' ');
    int second = line.indexOf(' ', first + 1);
    long user = Long.parseLong(line.substring(0, first));
    long item = Long.parseLong(line.substring(first + 1, second));
    return new Edge<>(2 * user, 2 * item + 1, Double.parseDouble(line.substring(second + 1)));
  }

  private static double[] add(
      double[] sums, Tuple2<Object, Tuple4<double[], double[], Object, Object>> vertex) {
    int item = (int) ((Long) vertex._1 & 1);
    double bias = (Double) vertex._2._3();
    sums[0] += 1;
    if (item == 1) {
      sums[2] += (Double) vertex._2._4();
    }
    sums[3 + item] += bias * bias;
    for (double factor : vertex._2._1()) {
      sums[5 + item] += factor * factor;
    }
    return sums;
  }

  /**
   * Fixes the initial factors, the same in all vertices: SVDPlusPlus draws them on the driver, from
   * Scala's shared generator, right after it asks for the rank.
   */
  private static final class Seeded extends SVDPlusPlus.Conf {
    private final long seed;

    Seeded(int rank, int iterations, double rate, double ofBiases, double ofFactors, long seed) {
      super(rank, iterations, LOWEST, HIGHEST, rate, rate, ofBiases, ofFactors);
      this.seed = seed;
    }

    @Override
    public int rank() {
      Random$.MODULE$.setSeed(seed);
      return super.rank();
    }
  }
}
