package org.pyrometer.plugin.codegen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LineTablesTest {
  private static final String BODY =
      "public static int half(int n) {\n  if (n < 0) {\n    throw new RuntimeException();\n  }\n"
          + "  return n / 2;\n}\n";

  /** A loader of its own: the compiler's class can be defined once in each. */
  private static ClassLoader janino() throws Exception {
    List<URL> jars = new ArrayList<>();
    for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
      if (path.contains("janino") || path.contains("commons-compiler")) {
        jars.add(Path.of(path).toUri().toURL());
      }
    }
    assertEquals(2, jars.size());
    return new URLClassLoader(jars.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
  }

  /** The line at which compiled code fails, as its stack says. */
  private static int line(ClassLoader loader) throws Exception {
    Class<?> type = loader.loadClass("org.codehaus.janino.ClassBodyEvaluator");
    Object evaluator = type.getConstructor().newInstance();
    type.getMethod("setParentClassLoader", ClassLoader.class).invoke(evaluator, loader);
    Object imports = new String[] {"java.util.List", "java.util.Map"};
    type.getMethod("setDefaultImports", String[].class).invoke(evaluator, imports);
    type.getMethod("cook", String.class, String.class).invoke(evaluator, "generated.java", BODY);
    Class<?> made = (Class<?>) type.getMethod("getClazz").invoke(evaluator);
    Throwable thrown =
        assertThrows(
                ReflectiveOperationException.class,
                () -> made.getMethod("half", int.class).invoke(null, -1))
            .getCause();
    return thrown.getStackTrace()[0].getLineNumber();
  }

  @Test
  void generatedCodeHasLines() throws Exception {
    ClassLoader loader = janino();
    assertTrue(LineTables.switchOn(loader));
    assertEquals(3, line(loader));
  }

  @Test
  void withoutItThereAreNone() throws Exception {
    assertEquals(-1, line(janino()));
  }

  @Test
  void noTemporaryFilesAreMade(@TempDir Path folder) throws Exception {
    String before = System.setProperty("java.io.tmpdir", folder.toString());
    try {
      ClassLoader loader = janino();
      LineTables.switchOn(loader);
      line(loader);
    } finally {
      System.setProperty("java.io.tmpdir", before);
    }
    try (var left = Files.list(folder)) {
      assertEquals(0, left.count());
    }
  }

  @Test
  void aCompilerThatIsInUseStaysAsItIs() throws Exception {
    ClassLoader loader = janino();
    assertEquals(-1, line(loader));
    assertThrows(LinkageError.class, () -> LineTables.switchOn(loader));
    assertEquals(-1, line(loader));
  }

  @Test
  void aJvmWithoutJaninoHasNothingToSwitch() throws Exception {
    assertFalse(LineTables.switchOn(ClassLoader.getPlatformClassLoader()));
  }

  @Test
  void anUnknownCompilerIsRefused() throws Exception {
    String name = "/" + LineTablesTest.class.getName().replace('.', '/') + ".class";
    byte[] other = LineTablesTest.class.getResourceAsStream(name).readAllBytes();
    assertThrows(IllegalStateException.class, () -> LineTables.withLines(other));
  }
}
