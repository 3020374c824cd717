package shop;

import org.apache.spark.sql.api.java.UDF2;

/** How a price differs from that of some sales before: keeps an object for each of these. */
public final class TrendOfObjects implements UDF2<Long, Integer, Long> {
  private static final int DETAILS = 24;

  private static final class Sale {
    final Double price;
    final long[] details;

    Sale(Double price, long[] details) {
      this.price = price;
      this.details = details;
    }
  }

  private transient Sale[] last;
  private transient int next;

  @Override
  public Long call(Long sale, Integer kept) {
    if (last == null) {
      last = new Sale[kept];
    }
    Sale before = last[next];
    Sale now = new Sale(Price.of(sale), new long[DETAILS]);
    now.details[0] = sale;
    last[next] = now;
    next = next + 1 == kept ? 0 : next + 1;
    return before == null ? 0L : Math.round((now.price - before.price) * 100) + before.details[1];
  }
}
