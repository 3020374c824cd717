package org.pyrometer.plugin.codegen;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Has Janino, which compiles what Spark generates, write line numbers, and nothing else.
 *
 * <p>Its own switch, {@code org.codehaus.janino.source_debugging.enable}, would also write tables
 * of variables, and every import of every plan into a temporary file that lives as long as the JVM:
 * some 25 files a plan. The compiler's class is therefore defined here, before anybody needs it,
 * with one field set in its constructors. That needs no agent, which executors do not have.
 */
public final class LineTables {
  private static final String COMPILER = "org.codehaus.janino.SimpleCompiler";
  private static final String NEIGHBOUR = "org.codehaus.janino.Mod";
  private static final String FIELD = "debugLines";

  private LineTables() {}

  /**
   * Defines the compiler's class.
   *
   * @param loader that of Spark's classes
   * @return whether there is such a compiler
   * @throws IOException if it cannot be read
   * @throws ReflectiveOperationException if its package cannot be entered
   * @throws IllegalStateException if it is not the expected compiler
   * @throws LinkageError if it is in use already
   */
  public static boolean switchOn(ClassLoader loader)
      throws IOException, ReflectiveOperationException {
    String resource = COMPILER.replace('.', '/') + ".class";
    if (loader.getResource(resource) == null) {
      return false;
    }
    try (InputStream bytes = loader.getResourceAsStream(resource)) {
      if (bytes == null) {
        throw new FileNotFoundException(resource);
      }
      byte[] changed = withLines(bytes.readAllBytes());
      Class<?> neighbour = Class.forName(NEIGHBOUR, false, loader);
      MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(changed);
    }
    return true;
  }

  /**
   * The class with the field true from the start.
   *
   * @throws IllegalStateException if no constructor sets it
   */
  static byte[] withLines(byte[] bytes) {
    ClassReader reader = new ClassReader(bytes);
    ClassWriter writer = new ClassWriter(reader, 0);
    Visitor visitor = new Visitor(writer);
    reader.accept(visitor, 0);
    if (!visitor.found) {
      throw new IllegalStateException(
          COMPILER + " has no field " + FIELD + ": this Janino is not known");
    }
    return writer.toByteArray();
  }

  private static final class Visitor extends ClassVisitor {
    private boolean found;

    Visitor(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      if (!name.equals("<init>")) {
        return next;
      }
      return new MethodVisitor(Opcodes.ASM9, next) {
        @Override
        public void visitFieldInsn(int opcode, String owner, String field, String type) {
          if (opcode == Opcodes.PUTFIELD && field.equals(FIELD)) {
            found = true;
            // Instead of the value of the property.
            super.visitInsn(Opcodes.POP);
            super.visitInsn(Opcodes.ICONST_1);
          }
          super.visitFieldInsn(opcode, owner, field, type);
        }
      };
    }
  }
}
