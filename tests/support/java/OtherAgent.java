import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/** Somebody else's agent, whose transformer fails for every class. */
public class OtherAgent {
  public static void premain(String argument, Instrumentation instrumentation) {
    instrumentation.addTransformer(
        new ClassFileTransformer() {
          @Override
          public byte[] transform(
              ClassLoader loader, String name, Class<?> old, ProtectionDomain d, byte[] bytes) {
            throw new IllegalStateException("another agent's");
          }
        });
  }
}
