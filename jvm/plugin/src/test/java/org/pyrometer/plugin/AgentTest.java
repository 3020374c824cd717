package org.pyrometer.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.DataInputStream;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.pyrometer.plugin.jvm.Jvm;

class AgentTest {
  private static final int JAVA_8 = 52;

  @Test
  void anOldJvmCanLoadTheEntry() throws IOException {
    try (var bytes = new DataInputStream(Agent.class.getResourceAsStream("Agent.class"))) {
      assertEquals(0xCAFEBABE, bytes.readInt());
      bytes.readUnsignedShort();
      assertEquals(JAVA_8, bytes.readUnsignedShort());
    }
  }

  @Test
  void anOldJvmIsLeftAlone() {
    Jvm before = Jvm.current();
    String version = System.getProperty("java.class.version");
    System.setProperty("java.class.version", "52.0");
    try {
      Agent.premain("/nowhere/agent.properties", null);
    } finally {
      System.setProperty("java.class.version", version);
    }
    assertEquals(before, Jvm.current());
  }

  @Test
  void whateverItIsGivenItDoesNotThrow() {
    for (String argument : new String[] {null, "", "\0", "/nowhere/agent.properties", "/proc"}) {
      Agent.premain(argument, null);
    }
  }
}
