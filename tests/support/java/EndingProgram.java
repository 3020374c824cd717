/** A small program whose output, complaints and end are its own: how it ends is its argument. */
public class EndingProgram {
  public static void main(String[] words) throws Exception {
    System.out.print("begun\n");
    byte[][] kept = new byte[8][];
    for (int i = 0; i < 64; i++) {
      kept[i % 8] = new byte[1 << 17];
    }
    Thread.sleep(words.length > 1 ? Long.parseLong(words[1]) : 150);
    switch (words[0]) {
      case "exit":
        System.out.print("no newline at the end");
        System.exit(7);
        break;
      case "halt":
        System.out.print("halted\n");
        System.out.flush();
        Runtime.getRuntime().halt(9);
        break;
      case "throw":
        throw new IllegalStateException("its own");
      case "memory":
        java.util.List<byte[]> all = new java.util.ArrayList<>();
        while (true) {
          all.add(new byte[1 << 20]);
        }
      case "signal":
        new ProcessBuilder("kill", "" + ProcessHandle.current().pid()).start().waitFor();
        Thread.sleep(60_000);
        break;
      default:
        System.err.println("the end " + kept[0].length);
    }
  }
}
