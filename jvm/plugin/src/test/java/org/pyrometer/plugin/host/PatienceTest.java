package org.pyrometer.plugin.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PatienceTest {
  @ParameterizedTest
  @CsvSource({",5000", "1,5000", "20,100000", "0,5000", "-3,5000", "often,5000", "99999,5000000"})
  void whatIsNoNumberOfTimesIsOnce(String times, long expectedMs) {
    assertEquals(expectedMs, Patience.patient(5_000, times));
  }
}
