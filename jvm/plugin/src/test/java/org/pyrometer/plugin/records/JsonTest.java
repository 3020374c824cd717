package org.pyrometer.plugin.records;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonTest {
  private final StringBuilder out = new StringBuilder();

  @Test
  void writesEveryKindOfValue() {
    new Json(out)
        .open("x")
        .put("a", 1L)
        .put("b", true)
        .put("c", "t")
        .put("d", (String) null)
        .putKnown("e", -1)
        .put("f", List.of("p", "q"))
        .close();
    assertEquals(
        "{\"k\":\"x\",\"a\":1,\"b\":true,\"c\":\"t\",\"d\":null,\"e\":null,\"f\":[\"p\",\"q\"]}\n",
        out.toString());
  }

  @Test
  void escapesWhatJsonForbids() {
    Json.string(out, "\"\\\n\u0001é\ud800<");
    assertEquals("\"\\\"\\\\\\u000a\\u0001é\\ud800<\"", out.toString());
  }

  @ParameterizedTest
  @CsvSource({
    "7,7",
    "-7,-7",
    "0,0",
    "007,null",
    "1e3,null",
    "-,null",
    "'',null",
    "12345678901234567890,null"
  })
  void onlyIntegersPassAsNumbers(String text, String expected) {
    new Json(out).open("x").putInteger("n", text).close();
    assertEquals("{\"k\":\"x\",\"n\":" + expected + "}\n", out.toString());
  }

  @Test
  void leavesUnknownReadingsOut() {
    Json json = new Json(out).open("mx").openValues();
    json.value("a", -1);
    json.value("b", 2);
    json.value("c/d \"e\"", 3);
    json.closeValues().close();
    assertEquals("{\"k\":\"mx\",\"values\":{\"b\":2,\"c/d \\\"e\\\"\":3}}\n", out.toString());
  }
}
