import java.io.FileWriter;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.List;
import org.pyrometer.shaded.asm.ClassReader;
import org.pyrometer.shaded.asm.ClassVisitor;
import org.pyrometer.shaded.asm.ClassWriter;
import org.pyrometer.shaded.asm.MethodVisitor;
import org.pyrometer.shaded.asm.Opcodes;

/**
 * Another agent in the same JVM, which breaks methods of ours: its argument is a file with a line
 * "throw Class#method" or "hang Class#method" for each.
 */
public class Saboteur {
  private static Path log;

  public static void premain(String file, Instrumentation instrumentation) throws Exception {
    log = Path.of(file + ".log");
    List<String> faults = Files.readAllLines(Path.of(file));
    instrumentation.addTransformer(
        new ClassFileTransformer() {
          @Override
          public byte[] transform(
              ClassLoader loader, String name, Class<?> old, ProtectionDomain d, byte[] bytes) {
            return name != null && name.startsWith("org/pyrometer/plugin/")
                ? broken(name.substring("org/pyrometer/plugin/".length()), bytes, faults)
                : null;
          }
        });
  }

  private static byte[] broken(String name, byte[] bytes, List<String> faults) {
    ClassReader reader = new ClassReader(bytes);
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    boolean[] touched = {false};
    reader.accept(
        new ClassVisitor(Opcodes.ASM9, writer) {
          @Override
          public MethodVisitor visitMethod(
              int access, String method, String descriptor, String signature, String[] thrown) {
            MethodVisitor next = super.visitMethod(access, method, descriptor, signature, thrown);
            for (String fault : faults) {
              if (fault.endsWith(" " + name + "#" + method)) {
                touched[0] = true;
                return new MethodVisitor(Opcodes.ASM9, next) {
                  @Override
                  public void visitCode() {
                    super.visitCode();
                    visitLdcInsn(fault);
                    visitMethodInsn(
                        Opcodes.INVOKESTATIC, "Saboteur", "fault", "(Ljava/lang/String;)V", false);
                  }
                };
              }
            }
            return next;
          }
        },
        0);
    return touched[0] ? writer.toByteArray() : null;
  }

  public static void fault(String fault) {
    note(fault);
    if (fault.startsWith("throw")) {
      throw new StackOverflowError("broken on purpose: " + fault);
    }
    try {
      Thread.sleep(600_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static synchronized void note(String fault) {
    try (FileWriter out = new FileWriter(log.toFile(), true)) {
      out.write(fault + "\n");
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
