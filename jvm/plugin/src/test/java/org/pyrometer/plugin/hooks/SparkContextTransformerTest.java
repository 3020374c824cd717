package org.pyrometer.plugin.hooks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

class SparkContextTransformerTest {
  private static byte[] bytes(String resource) throws IOException {
    try (InputStream in = ClassLoader.getSystemResourceAsStream(resource)) {
      return in.readAllBytes();
    }
  }

  /** Calls to the hook, as "method@position". */
  private static List<String> hooks(byte[] bytes) {
    List<String> found = new ArrayList<>();
    new ClassReader(bytes)
        .accept(
            new ClassVisitor(Opcodes.ASM9) {
              @Override
              public MethodVisitor visitMethod(
                  int access, String name, String descriptor, String signature, String[] thrown) {
                return new MethodVisitor(Opcodes.ASM9) {
                  private int position;

                  @Override
                  public void visitVarInsn(int opcode, int variable) {
                    position++;
                  }

                  @Override
                  public void visitMethodInsn(
                      int opcode, String owner, String method, String type, boolean isInterface) {
                    if (owner.endsWith("Hook")) {
                      found.add(name + "@" + position);
                    }
                    position++;
                  }
                };
              }
            },
            0);
    return found;
  }

  @Test
  void theHooksAreTheFirstCallsOfTheirMethods() throws IOException {
    byte[] original = bytes("org/apache/spark/SparkContext.class");
    assertEquals(List.of(), hooks(original));
    assertEquals(
        Set.of("_conf_$eq@1", "setLocalProperty@2", "setLocalProperties@1"),
        Set.copyOf(hooks(SparkContextTransformer.withHook(original))));
  }

  @Test
  void aSparkThatIsNotKnownIsRefused() throws IOException {
    byte[] other = bytes("org/apache/spark/SparkEnv.class");
    Throwable error =
        assertThrows(IllegalStateException.class, () -> SparkContextTransformer.withHook(other));
    assertTrue(error.getMessage().contains("_conf_$eq"));
  }

  @Test
  void otherClassesAreLeftAlone() {
    SparkContextTransformer transformer = new SparkContextTransformer();
    ClassLoader loader = getClass().getClassLoader();
    assertNull(transformer.transform(loader, "org/apache/spark/SparkEnv", null, null, new byte[0]));
    assertNull(
        transformer.transform(loader, "org/apache/spark/SparkContext", null, null, new byte[9]),
        "bytes that are no class");
    assertNull(
        transformer.transform(
            ClassLoader.getPlatformClassLoader(),
            "org/apache/spark/SparkContext",
            null,
            null,
            new byte[9]),
        "a loader that does not see the agent");
  }

  @Test
  void theHookWithoutAnAgentDoesNothing() {
    OverlayHook.apply(null);
    OverlayHook.apply(new Object());
  }
}
