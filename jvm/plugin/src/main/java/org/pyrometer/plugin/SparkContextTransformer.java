package org.pyrometer.plugin;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Lets {@link OverlayHook} see the configuration that a {@code SparkContext} is about to keep.
 *
 * <p>The context copies the user's {@code SparkConf} and stores the copy with the private setter
 * {@code _conf_$eq}, in Spark 3.x and 4.x alike. At that moment everything the user said (files,
 * command line, code) is merged, and nothing has been read from it. One call is put in front of the
 * setter's body.
 */
final class SparkContextTransformer implements ClassFileTransformer {
  private static final String CLASS = "org/apache/spark/SparkContext";
  private static final String METHOD = "_conf_$eq";
  private static final String DESCRIPTOR = "(Lorg/apache/spark/SparkConf;)V";
  private static final String HOOK = OverlayHook.class.getName().replace('.', '/');

  @Override
  public byte[] transform(
      ClassLoader loader,
      String className,
      Class<?> redefined,
      ProtectionDomain domain,
      byte[] bytes) {
    if (!CLASS.equals(className) || redefined != null) {
      return null;
    }
    try {
      if (Class.forName(OverlayHook.class.getName(), false, loader) != OverlayHook.class) {
        throw new IllegalStateException("Spark's class loader has another copy of the agent");
      }
      return withHook(bytes);
    } catch (Throwable e) {
      OverlayHook.failed("transform", e);
      return null;
    }
  }

  /**
   * The class with the hook in its setter.
   *
   * @throws IllegalStateException if it has no such setter
   */
  static byte[] withHook(byte[] bytes) {
    ClassReader reader = new ClassReader(bytes);
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    HookVisitor visitor = new HookVisitor(writer);
    reader.accept(visitor, 0);
    if (!visitor.found) {
      throw new IllegalStateException(
          "SparkContext has no method " + METHOD + ": this Spark is not known to the agent");
    }
    return writer.toByteArray();
  }

  private static final class HookVisitor extends ClassVisitor {
    private boolean found;

    HookVisitor(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      if (!METHOD.equals(name) || !DESCRIPTOR.equals(descriptor)) {
        return next;
      }
      found = true;
      return new MethodVisitor(Opcodes.ASM9, next) {
        @Override
        public void visitCode() {
          super.visitCode();
          visitVarInsn(Opcodes.ALOAD, 1);
          visitMethodInsn(Opcodes.INVOKESTATIC, HOOK, "apply", "(Ljava/lang/Object;)V", false);
        }
      };
    }
  }
}
