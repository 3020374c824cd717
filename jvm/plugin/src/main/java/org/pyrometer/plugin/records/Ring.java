package org.pyrometer.plugin.records;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * A bounded queue from many threads to one. Whoever offers takes no lock and never waits: a thread
 * that was preempted on its way holds up the reader alone.
 *
 * <p>A place is reserved by its number and then filled, as in Vyukov's bounded queue; as there is
 * one reader, an empty place says that it is not filled yet.
 *
 * @param <E> what it holds
 */
final class Ring<E> {
  /** How often the reader looks at a place that is being filled before it leaves it for later. */
  private static final int SPINS = 1_000;

  private final AtomicReferenceArray<E> places;
  private final int mask;
  private final int capacity;

  /** Number of the next place to be reserved. */
  private final AtomicLong tail = new AtomicLong();

  /** Number of the next place to be read. */
  private volatile long head;

  /**
   * An empty one.
   *
   * @param capacity most elements that it holds, from 1 to 2<sup>30</sup>
   */
  Ring(int capacity) {
    this.capacity = capacity;
    int size = capacity == 1 ? 1 : Integer.highestOneBit(capacity - 1) << 1;
    this.places = new AtomicReferenceArray<>(size);
    this.mask = size - 1;
  }

  /** Takes an element; false if there is no room. Any thread may call it. */
  boolean offer(E element) {
    while (true) {
      long place = tail.get();
      if (place - head >= capacity) {
        return false;
      }
      if (tail.compareAndSet(place, place + 1)) {
        places.set((int) place & mask, element);
        return true;
      }
    }
  }

  /** Elements that it holds, those that are being put in among them. */
  int size() {
    // In this order, it is never below zero.
    long read = head;
    return (int) (tail.get() - read);
  }

  /** Whether it holds none. */
  boolean isEmpty() {
    return size() == 0;
  }

  /**
   * Moves elements into a list, in the order in which their places were reserved. One thread may
   * call it.
   *
   * @param most of them
   * @return how many there were; fewer than {@link #size} said if one is still being put in
   */
  int drainTo(List<? super E> list, int most) {
    long place = head;
    int count = 0;
    while (count < most && place < tail.get()) {
      E element = filled((int) place & mask);
      if (element == null) {
        break;
      }
      list.add(element);
      places.set((int) place & mask, null);
      place++;
      count++;
      // One by one: the list may have no memory for the next.
      head = place;
    }
    return count;
  }

  /** Lets go of all that it holds. The reader may call it. */
  void clear() {
    long place = head;
    while (place < tail.get() && filled((int) place & mask) != null) {
      places.set((int) place & mask, null);
      place++;
      head = place;
    }
  }

  private E filled(int index) {
    E element = places.get(index);
    for (int spin = 0; element == null && spin < SPINS; spin++) {
      Thread.onSpinWait();
      element = places.get(index);
    }
    return element;
  }
}
