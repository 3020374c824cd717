import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Scanner;
import scala.collection.Iterator;

/**
 * What Spark's own code reads. Lines of stdin are {@code launcher TEXT}, {@code managers TEXT} or
 * {@code file PATH}, each answered by its words, or names and values; all in Base64, after a +.
 */
public final class SparkReads {
  private static final Object UTILS = object("org.apache.spark.util.Utils$");

  public static void main(String[] args) throws Exception {
    Class<?> launcher = Class.forName("org.apache.spark.launcher.CommandBuilderUtils");
    Method parse = method(launcher, "parseOptionString");
    Method split = method(UTILS.getClass(), "splitCommandString");
    Method load = method(UTILS.getClass(), "getPropertiesFromFile");
    Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
    while (lines.hasNextLine()) {
      String[] asked = lines.nextLine().split(" ");
      byte[] bytes = Base64.getDecoder().decode(asked[1].substring(1));
      String text = new String(bytes, StandardCharsets.UTF_8);
      List<String> found = new ArrayList<>();
      if (asked[0].equals("launcher")) {
        ((List<?>) parse.invoke(null, text)).forEach(one -> found.add((String) one));
      } else if (asked[0].equals("managers")) {
        Iterator<?> words = ((scala.collection.Iterable<?>) split.invoke(UTILS, text)).iterator();
        while (words.hasNext()) {
          found.add((String) words.next());
        }
      } else {
        Iterator<?> pairs = ((scala.collection.Iterable<?>) load.invoke(UTILS, text)).iterator();
        while (pairs.hasNext()) {
          scala.Tuple2<?, ?> pair = (scala.Tuple2<?, ?>) pairs.next();
          found.add((String) pair._1());
          found.add((String) pair._2());
        }
      }
      List<String> answer = new ArrayList<>();
      for (String one : found) {
        byte[] word = one.getBytes(StandardCharsets.UTF_8);
        answer.add("+" + Base64.getEncoder().encodeToString(word));
      }
      System.out.println(String.join(" ", answer));
      System.out.flush();
    }
  }

  private static Object object(String name) {
    try {
      return Class.forName(name).getField("MODULE$").get(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Method method(Class<?> type, String name) throws NoSuchMethodException {
    Method found = type.getDeclaredMethod(name, String.class);
    found.setAccessible(true);
    return found;
  }
}
