package shop;

import org.apache.spark.sql.api.java.UDF2;

/** How a price differs from that of some sales before: keeps a number for each of these. */
public final class TrendOfNumbers implements UDF2<Long, Integer, Long> {
  private transient double[] last;
  private transient int next;
  private transient boolean full;

  @Override
  public Long call(Long sale, Integer kept) {
    if (last == null) {
      last = new double[kept];
    }
    double before = last[next];
    double now = Price.of(sale);
    long change = full ? Math.round((now - before) * 100) : 0L;
    last[next] = now;
    next++;
    if (next == kept) {
      next = 0;
      full = true;
    }
    return change;
  }
}
