package org.pyrometer.workloads.ml;

import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.mllib.clustering.KMeans;
import org.apache.spark.mllib.clustering.KMeansModel;
import org.apache.spark.mllib.linalg.Vector;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.StorageLevel;

/**
 * MLlib's k-means from given centres.
 *
 * <p>The DataFrame API draws the centres to start from, so that neither the number of iterations
 * nor the result can be known beforehand; the RDD API, which does its work, takes them.
 */
public final class KMeansFrom {
  private KMeansFrom() {}

  /**
   * Runs Lloyd's algorithm until no centre moves, at most {@code iterations} times.
   *
   * @param points rows whose first column is a vector of {@code org.apache.spark.ml.linalg}
   * @param initial the centres to start from
   * @param level storage level of the vectors; with none, MLlib stores what it derives from them
   * @return all coordinates of the centres, then the cost, then the number of iterations
   */
  public static double[] run(
      JavaRDD<Row> points, List<List<Double>> initial, int iterations, StorageLevel level) {
    JavaRDD<Vector> vectors =
        points.map(row -> Vectors.fromML((org.apache.spark.ml.linalg.Vector) row.get(0)));
    boolean stored = !level.equals(StorageLevel.NONE());
    if (stored) {
      vectors.persist(level);
    }
    Vector[] centresBefore = initial.stream().map(KMeansFrom::vector).toArray(Vector[]::new);
    try {
      KMeansModel model =
          new KMeans()
              .setK(initial.size())
              .setInitialModel(new KMeansModel(centresBefore))
              .setMaxIterations(iterations)
              .setEpsilon(0)
              .run(vectors.rdd());
      DoubleStream centres =
          Stream.of(model.clusterCenters()).flatMapToDouble(c -> DoubleStream.of(c.toArray()));
      return DoubleStream.concat(centres, DoubleStream.of(model.trainingCost(), model.numIter()))
          .toArray();
    } finally {
      if (stored) {
        vectors.unpersist(true);
      }
    }
  }

  private static Vector vector(List<Double> coordinates) {
    return Vectors.dense(coordinates.stream().mapToDouble(Double::doubleValue).toArray());
  }
}
