package shop;

/** Prices of sales. */
final class Price {
  private Price() {}

  /** Gives the price of a sale. */
  static double of(long sale) {
    return (sale * 2_654_435_761L >>> 11) % 10_000 / 100.0;
  }

  /** Gives the same after so many rounds of arithmetic, as a whole number: work for a CPU. */
  static long after(long sale, int rounds) {
    double at = of(sale);
    for (int round = 0; round < rounds; round++) {
      at = Math.log1p(Math.cbrt(Math.exp(-at)));
    }
    return Math.round(at * 1e6);
  }
}
