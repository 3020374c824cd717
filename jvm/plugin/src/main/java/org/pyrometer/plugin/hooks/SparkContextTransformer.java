package org.pyrometer.plugin.hooks;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Lets {@link OverlayHook} see the configuration that a {@code SparkContext} is about to keep, and
 * {@link ContextHook} the local properties that its threads set.
 *
 * <p>The context copies the user's {@code SparkConf} and stores the copy with the private setter
 * {@code _conf_$eq}, in Spark 3.x and 4.x alike. At that moment all settings of the user (files,
 * command line, code) are merged, and nothing has been read from them. A call is inserted at the
 * beginning of each of these methods.
 */
public final class SparkContextTransformer implements ClassFileTransformer {
  private static final String CLASS = "org/apache/spark/SparkContext";
  private static final String METHOD = "_conf_$eq";

  /** Method of ours that is called first, by name and descriptor of the method of Spark's. */
  private static final Map<String, Hook> HOOKS =
      Map.of(
          METHOD + "(Lorg/apache/spark/SparkConf;)V",
          new Hook(OverlayHook.class, "apply", "(Ljava/lang/Object;)V", 1),
          "setLocalProperty(Ljava/lang/String;Ljava/lang/String;)V",
          new Hook(ContextHook.class, "property", "(Ljava/lang/String;Ljava/lang/String;)V", 2),
          "setLocalProperties(Ljava/util/Properties;)V",
          new Hook(ContextHook.class, "properties", "(Ljava/util/Properties;)V", 1));

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
   * The class with the hooks; that of the setter must be among them.
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
      Hook hook = HOOKS.get(name + descriptor);
      if (hook == null) {
        return next;
      }
      found |= METHOD.equals(name);
      return new MethodVisitor(Opcodes.ASM9, next) {
        @Override
        public void visitCode() {
          super.visitCode();
          for (int argument = 1; argument <= hook.arguments; argument++) {
            visitVarInsn(Opcodes.ALOAD, argument);
          }
          visitMethodInsn(Opcodes.INVOKESTATIC, hook.owner, hook.method, hook.descriptor, false);
        }
      };
    }
  }

  /** A static method of ours that takes the arguments of the method it is put into. */
  private static final class Hook {
    private final String owner;
    private final String method;
    private final String descriptor;
    private final int arguments;

    Hook(Class<?> owner, String method, String descriptor, int arguments) {
      this.owner = owner.getName().replace('.', '/');
      this.method = method;
      this.descriptor = descriptor;
      this.arguments = arguments;
    }
  }
}
