import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** Prints each event of recordings as the JDK's own reader gives it: a line of JSON each. */
public final class PrintRecording {
  private static final String[] PLAIN = {
    "samples", "tlabSize", "allocationSize", "weight", "size", "address", "id", "compileLevel",
    "codeSize", "state", "name", "value", "compiler"
  };
  private static final String[] SPANS = {"timeSpan", "samplingPeriod"};
  private static final String[] CLASSES = {"objectClass", "monitorClass", "parkedClass"};
  private static final String[] FLAGS = {"succeded", "succeeded"};

  public static void main(String[] args) throws Exception {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < args.length; i++) {
      Map<Long, String> types = new TreeMap<>();
      try (RecordingFile file = new RecordingFile(Path.of(args[i]))) {
        file.readEventTypes().forEach(type -> types.put(type.getId(), type.getName()));
        while (file.hasMoreEvents()) {
          out.append("{\"file\":").append(i);
          print(file.readEvent(), types, out);
          out.append("}\n");
        }
      }
    }
    System.out.write(out.toString().getBytes("UTF-8"));
    System.out.flush();
  }

  private static void print(RecordedEvent event, Map<Long, String> types, StringBuilder out) {
    java.time.Instant start = event.getStartTime();
    word(out, "type", event.getEventType().getName());
    number(out, "ticks", event.getLong("startTime"));
    number(out, "wall_ns", start.getEpochSecond() * 1_000_000_000L + start.getNano());
    if (event.hasField("duration")) {
      number(out, "duration_ns", event.getDuration().toNanos());
    }
    for (String name : PLAIN) {
      Object value = event.hasField(name) ? event.getValue(name) : null;
      if (value instanceof Number) {
        number(out, name, ((Number) value).longValue());
      } else if (value instanceof String) {
        word(out, name, (String) value);
      }
    }
    for (String name : SPANS) {
      if (event.hasField(name)) {
        number(out, name, event.getDuration(name).toNanos());
      }
    }
    for (String name : CLASSES) {
      if (event.hasField(name)) {
        RecordedClass found = event.getClass(name);
        word(out, "class", found == null ? null : found.getName());
      }
    }
    for (String name : FLAGS) {
      if (event.hasField(name)) {
        out.append(",\"succeeded\":").append(event.getBoolean(name));
      }
    }
    if (event.getEventType().getName().equals("jdk.Compilation")) {
      RecordedMethod method = event.getValue("method");
      word(out, "class", method.getType().getName());
      word(out, "method", method.getName());
    }
    if (event.getEventType().getName().equals("jdk.ActiveSetting")) {
      word(out, "about", types.get(event.getLong("id")));
    }
    for (String name : new String[] {"sampledThread", "eventThread"}) {
      if (event.hasField(name)) {
        thread(out, event.getThread(name));
      }
    }
    if (event.hasField("stackTrace")) {
      stack(out, event.getStackTrace());
    }
  }

  private static void thread(StringBuilder out, RecordedThread thread) {
    if (thread == null) {
      return;
    }
    String name = thread.getJavaName();
    if (name == null || name.isEmpty()) {
      name = thread.getOSName();
    }
    number(out, "tid", thread.getOSThreadId());
    word(out, "thread", name);
  }

  private static void stack(StringBuilder out, RecordedStackTrace stack) {
    if (stack == null) {
      out.append(",\"frames\":null");
      return;
    }
    List<RecordedFrame> frames = stack.getFrames();
    out.append(",\"truncated\":").append(stack.isTruncated()).append(",\"frames\":[");
    for (int i = 0; i < frames.size(); i++) {
      RecordedFrame frame = frames.get(i);
      out.append(i == 0 ? "[" : ",[");
      out.append(text(frame.getMethod().getType().getName())).append(',');
      out.append(text(frame.getMethod().getName())).append(',');
      out.append(frame.getLineNumber()).append(',').append(text(frame.getType()));
      out.append(']');
    }
    out.append(']');
  }

  private static void number(StringBuilder out, String name, long value) {
    out.append(",\"").append(name).append("\":").append(value);
  }

  private static void word(StringBuilder out, String name, String value) {
    out.append(",\"").append(name).append("\":").append(text(value));
  }

  private static String text(String value) {
    if (value == null) {
      return "null";
    }
    StringBuilder out = new StringBuilder("\"");
    for (char c : value.toCharArray()) {
      if (c == '"' || c == '\\' || c < 32 || Character.isSurrogate(c)) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
