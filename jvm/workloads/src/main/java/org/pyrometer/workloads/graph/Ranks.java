package org.pyrometer.workloads.graph;

import java.io.Serializable;
import java.util.Comparator;
import java.util.List;
import java.util.stream.DoubleStream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.graphx.Graph;
import org.apache.spark.graphx.GraphLoader;
import org.apache.spark.graphx.lib.PageRank;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** GraphX's PageRank of a graph that lies in text files, an edge a line. */
public final class Ranks {
  private static final double RESET = 0.15;
  private static final long RESIDUES = 1009;

  private Ranks() {}

  /**
   * Ranks the vertices in a fixed number of iterations.
   *
   * @param partitions least number of partitions of the edges
   * @param level storage level of vertices and edges
   * @param top how many of the highest ranks to give
   * @return vertices; sums of rank, of rank squared, of rank times (id modulo 1009); then, for each
   *     of the highest ranks, id and rank
   */
  public static double[] run(
      JavaSparkContext context,
      String path,
      int partitions,
      int iterations,
      StorageLevel level,
      int top) {
    return Sums.leavingNothingStored(
        context, () -> rank(context, path, partitions, iterations, level, top));
  }

  private static double[] rank(
      JavaSparkContext context,
      String path,
      int partitions,
      int iterations,
      StorageLevel level,
      int top) {
    // Not ClassTag.Int(): its type differs between Scala 2.12 and 2.13.
    ClassTag<Object> tag = ClassTag$.MODULE$.apply(int.class);
    Graph<Object, Object> graph =
        GraphLoader.edgeListFile(context.sc(), path, false, partitions, level, level);
    Graph<Object, Object> ranks =
        PageRank.runWithOptions(graph, iterations, RESET, Option.empty(), tag, tag);
    ranks.persist(level);
    JavaRDD<Tuple2<Object, Object>> vertices = ranks.vertices().toJavaRDD();
    double[] sums = vertices.aggregate(new double[4], Ranks::add, Sums::merge);
    List<Tuple2<Object, Object>> highest = vertices.takeOrdered(top, new HighestFirst());
    return DoubleStream.concat(
            DoubleStream.of(sums),
            highest.stream().flatMapToDouble(v -> DoubleStream.of((Long) v._1, (Double) v._2)))
        .toArray();
  }

  private static double[] add(double[] sums, Tuple2<Object, Object> vertex) {
    double rank = (Double) vertex._2;
    sums[0] += 1;
    sums[1] += rank;
    sums[2] += rank * rank;
    sums[3] += rank * ((Long) vertex._1 % RESIDUES);
    return sums;
  }

  /** By rank, highest first, then by id. */
  private static final class HighestFirst
      implements Comparator<Tuple2<Object, Object>>, Serializable {
    @Override
    public int compare(Tuple2<Object, Object> left, Tuple2<Object, Object> right) {
      int byRank = Double.compare((Double) right._2, (Double) left._2);
      return byRank != 0 ? byRank : Long.compare((Long) left._1, (Long) right._1);
    }
  }
}
