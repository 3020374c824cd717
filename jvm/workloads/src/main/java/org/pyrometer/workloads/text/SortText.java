package org.pyrometer.workloads.text;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Sorts the comma-separated words of text files as text, and takes the first of them. */
public final class SortText {
  private SortText() {}

  /**
   * Runs {@code textFile(path, partitions).flatMap(split).map((x, 1)).sortByKey().takeOrdered(n)}.
   *
   * @return the {@code count} smallest words in order, by Java's ordering of strings
   */
  public static List<String> run(JavaSparkContext context, String path, int partitions, int count) {
    return context
        .textFile(path, partitions)
        .flatMap(line -> Arrays.asList(line.split(",")).iterator())
        .mapToPair(word -> new Tuple2<>(word, 1))
        .sortByKey()
        .takeOrdered(count, new PairOrder())
        .stream()
        .map(Tuple2::_1)
        .collect(Collectors.toUnmodifiableList());
  }

  /** The ordering of pairs that Scala derives: by the first, then by the second. */
  private static final class PairOrder
      implements Comparator<Tuple2<String, Integer>>, Serializable {
    @Override
    public int compare(Tuple2<String, Integer> left, Tuple2<String, Integer> right) {
      int byWord = left._1.compareTo(right._1);
      return byWord != 0 ? byWord : left._2.compareTo(right._2);
    }
  }
}
