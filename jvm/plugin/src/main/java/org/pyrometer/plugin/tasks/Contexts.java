package org.pyrometer.plugin.tasks;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel.MapMode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.pyrometer.plugin.config.Settings;
import org.pyrometer.plugin.host.Host;
import org.pyrometer.plugin.records.Recorder;

/**
 * What each thread of this JVM works for, in memory that the OS probe can read: a file of slots,
 * one for each thread, described by {@code docs/reference/context-slot.md}.
 *
 * <p>The file lies in {@code /dev/shm}, where no disk can delay the writer, and has a name in the
 * raw folder. Nothing here throws; what fails switches it off.
 */
public final class Contexts {
  /** Bytes of a slot, and of the header before the first. */
  public static final int RECORD_BYTES = 128;

  private static final VarHandle INT =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final byte[] MAGIC = "PYROCTX\1".getBytes(StandardCharsets.ISO_8859_1);
  private static final Path SHARED = Path.of("/dev/shm");
  private static final int MAX_SLOTS = 4096;

  private final Recorder recorder;
  private final ThreadLocal<ContextSlot> current = ThreadLocal.withInitial(this::claim);
  private final AtomicReferenceArray<WeakReference<Thread>> owners;
  private final ByteBuffer memory;
  private final Path link;
  private final Path file;
  private final int capacity;
  private volatile boolean off;

  /**
   * The slots of this JVM; none if the settings do not ask for them, or they are not available.
   *
   * @param settings {@code context}, {@code context.slots}
   * @param folder where the file gets its name
   * @param recorder where a failure is noted
   */
  public Contexts(Settings settings, Path folder, Recorder recorder) {
    this.recorder = recorder;
    this.capacity = (int) Math.min(settings.number("context.slots", 1024, 1), MAX_SLOTS);
    long pid = ProcessHandle.current().pid();
    ByteBuffer mapped = null;
    Path name = null;
    Path created = null;
    if (settings.isOn("context", false)) {
      try {
        name = folder.resolve("context-" + pid);
        Files.deleteIfExists(name);
        created = create(name);
        mapped = map(created, capacity);
        header(mapped, capacity, (int) pid);
        if (!created.equals(name)) {
          // Last, so that the name never stands for an unfinished file.
          Files.createSymbolicLink(name, created);
        }
      } catch (Throwable e) {
        mapped = null;
        recorder.error("context", e);
      }
    }
    this.memory = mapped;
    this.link = name;
    this.file = created;
    this.off = mapped == null;
    this.owners = new AtomicReferenceArray<>(off ? 0 : capacity);
    if (off) {
      remove();
    }
  }

  /** The calling thread's slot; one that keeps nothing where there is none left. */
  public ContextSlot current() {
    return off ? ContextSlot.NONE : current.get();
  }

  /** Writes no more, and says why. */
  public void fail(Throwable failure) {
    off = true;
    recorder.error("context", failure);
  }

  /** Whether nothing is written any more. */
  public boolean isOff() {
    return off;
  }

  /** Removes the file; threads may go on writing to what has no name any more. */
  public void remove() {
    try {
      if (link != null) {
        Files.deleteIfExists(link);
      }
      if (file != null) {
        Files.deleteIfExists(file);
      }
    } catch (IOException | RuntimeException e) {
      recorder.error("context_remove", e);
    }
  }

  /**
   * The first slot that is free, or whose thread is dead. A thread comes here once; it takes no
   * lock, as all threads of an executor come at the same time, with their first tasks.
   */
  private ContextSlot claim() {
    try {
      long thread = Host.threadId();
      if (thread < 0) {
        return ContextSlot.NONE;
      }
      WeakReference<Thread> owner = new WeakReference<>(Thread.currentThread());
      for (int slot = 0; slot < capacity; slot++) {
        WeakReference<Thread> other = owners.get(slot);
        if (isAlive(other) || !owners.compareAndSet(slot, other, owner)) {
          continue;
        }
        ContextSlot claimed = new ContextSlot(this, memory, (1 + slot) * RECORD_BYTES);
        claimed.open((int) thread);
        use(slot + 1);
        return claimed;
      }
      long overflow = (long) LONG.getAndAdd(memory, 40, 1L) + 1;
      recorder.error("context_slots", capacity + " threads have a slot; without one: " + overflow);
    } catch (Throwable e) {
      fail(e);
    }
    return ContextSlot.NONE;
  }

  private static boolean isAlive(WeakReference<Thread> owner) {
    Thread thread = owner == null ? null : owner.get();
    return thread != null && thread.isAlive();
  }

  /** The first so many records are in use; one of another thread may not be written yet. */
  private void use(int count) {
    int known = (int) INT.getVolatile(memory, 16);
    while (known < count && !INT.compareAndSet(memory, 16, known, count)) {
      known = (int) INT.getVolatile(memory, 16);
    }
  }

  private static Path create(Path name) throws IOException {
    if (Files.isDirectory(SHARED) && Files.isWritable(SHARED)) {
      return Files.createTempFile(SHARED, "pyrometer-", "." + name.getFileName());
    }
    return Files.createFile(name);
  }

  private static ByteBuffer map(Path file, int capacity) throws IOException {
    int bytes = (1 + capacity) * RECORD_BYTES;
    try (RandomAccessFile access = new RandomAccessFile(file.toFile(), "rw")) {
      // Written, not only extended, so that a lack of memory fails here.
      access.write(new byte[bytes]);
      return access.getChannel().map(MapMode.READ_WRITE, 0, bytes);
    }
  }

  private static void header(ByteBuffer memory, int capacity, int pid) {
    INT.set(memory, 8, RECORD_BYTES);
    INT.set(memory, 12, capacity);
    INT.set(memory, 20, pid);
    LONG.set(memory, 32, System.nanoTime());
    VarHandle.releaseFence();
    for (int i = 0; i < MAGIC.length; i++) {
      memory.put(i, MAGIC[i]);
    }
  }
}
