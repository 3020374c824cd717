"""Shows the OS probe which task this Python worker works for, in memory that both can see.

The process that forks workers (pyspark's daemon, or a worker that was started by itself) makes a
file of context slots for them before the first fork; each worker writes the number of its task
into its slot, when pyspark sets it. Stage and query are in the slot of the JVM's thread
that runs the task (docs/reference/context-slot.md).
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


SHARED = "/dev/shm"  # noqa: S108 - a name that nobody can guess is created there
SLOTS = 256
RECORD_BYTES = 128
# Of 8 and of 4 bytes each: where fields stand in a record.
WORDS, HALVES = RECORD_BYTES // 8, RECORD_BYTES // 4
SEQUENCE, TASK = 1, 4
TID, PHASE = 4, 5
MAGIC = 0x54584350
IDLE, WORKER = 0, 3


class Slots:
    """The file: one process creates it and assigns its slots; its children write to them.

    Parameters
    ----------
    folder : str
        Where the file gets its name.
    jvm : int
        Process whose tasks the workers work for.
    """

    def __init__(self, folder: str, jvm: int) -> None:
        self.owner = os.getpid()
        size = (1 + SLOTS) * RECORD_BYTES
        name = os.path.join(folder, f"context-{self.owner}")
        path = name
        if os.access(SHARED, os.W_OK):
            path = f"{SHARED}/pyrometer-{time.monotonic_ns()}.context-{self.owner}"
        with contextlib.suppress(FileNotFoundError):
            os.remove(name)
        memory = memoryview(_mapped(path, size))
        # Views of whole numbers: one store each, unlike `struct` with a byte order.
        self.longs, self.ints = memory.cast("q"), memory.cast("i")
        self.ints[2], self.ints[3], self.ints[5], self.ints[6] = (
            RECORD_BYTES, SLOTS, self.owner, jvm,
        )  # fmt: skip
        self.longs[4] = time.monotonic_ns()
        self.longs[0] = int.from_bytes(b"PYROCTX\x01", "little")
        self.given: list[int] = []
        self.slot: int | None = None
        self.paths = {path, name}
        if path != name:
            try:
                os.symlink(path, name)
            except BaseException:
                os.remove(path)
                raise

    def reserve(self) -> None:
        """Choose the slot of the child that is about to be forked."""
        if os.getpid() != self.owner:
            return  # a worker forks
        # Slots chosen before, whose child has not written its number yet.
        self.given = [slot for slot in self.given if not self._tid(slot)]
        used = self.ints[4]
        for slot in range(used):
            if slot not in self.given and not _lives(self._tid(slot)):
                break
        else:
            if used == SLOTS:
                self.longs[5] += 1
                self.slot = None
                return
            slot = used
            self.ints[4] = used + 1
        self.ints[(1 + slot) * HALVES + TID] = 0
        self.given.append(slot)
        self.slot = slot

    def take(self) -> None:
        """Make the chosen slot that of this process, unless a worker forked it."""
        if self.owner not in (os.getpid(), os.getppid()):
            self.slot = None
        if self.slot is None:
            return
        first, half = (1 + self.slot) * WORDS, (1 + self.slot) * HALVES
        sequence = self.longs[first + SEQUENCE] & ~1
        self.longs[first + SEQUENCE] = sequence + 1
        # Not known here, the start apart: stage, attempts, partition, query, iteration.
        for word in range(TASK, 9):
            self.longs[first + word] = -1
        self.longs[first + 3] = time.monotonic_ns()
        self.ints[half], self.ints[half + 1] = MAGIC, 1
        self.ints[half + PHASE] = IDLE
        self.ints[half + TID] = os.getpid()
        self.longs[first + SEQUENCE] = sequence + 2

    def work_for(self, task: int | None) -> None:
        """Say which task this process works for from now on."""
        if self.slot is None:
            return
        first, half = (1 + self.slot) * WORDS, (1 + self.slot) * HALVES
        if self.ints[half + TID] != os.getpid():
            return  # a child that was forked past Python
        self.longs[first + SEQUENCE] += 1
        self.ints[half + PHASE] = IDLE if task is None else WORKER
        self.longs[first + 3] = time.monotonic_ns()
        self.longs[first + TASK] = -1 if task is None else task
        self.longs[first + SEQUENCE] += 1

    def remove(self) -> None:
        """Remove the file, unless this process is a child of the one that made it."""
        if os.getpid() != self.owner:
            return
        for path in self.paths:
            with contextlib.suppress(OSError):
                os.remove(path)

    def _tid(self, slot: int) -> int:
        return self.ints[(1 + slot) * HALVES + TID]


class Watched:
    """The attribute of pyspark's ``TaskContext`` with the task: setting it updates the slot."""

    def __init__(self, name: str, slots: Slots) -> None:
        self.name, self.slots = name, slots

    def __get__(self, context: Any, owner: Any = None) -> Any:
        """Give what was set, ``None`` before."""
        return None if context is None else vars(context).get(self.name)

    def __set__(self, context: Any, task: Any) -> None:
        """Keep it as an object without us would; then update the slot."""
        vars(context)[self.name] = task
        with contextlib.suppress(Exception):
            self.slots.work_for(task if isinstance(task, int) else None)


class WhenLoaded:
    """Finds nothing by itself; has ``TaskContext`` watched once its module was loaded."""

    MODULE = "pyspark.taskcontext"

    def __init__(self, slots: Slots) -> None:
        self.slots = slots

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find the module as others do, and take part in its loading."""
        if name != self.MODULE:
            return None
        spec = None
        with contextlib.suppress(Exception):
            sys.meta_path.remove(self)
            for finder in sys.meta_path:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
            if spec is not None and spec.loader is not None:
                load = spec.loader.exec_module
                spec.loader.exec_module = lambda module: self._load(load, module)  # type: ignore[method-assign]
        return spec

    def _load(self, load: Any, module: ModuleType) -> None:
        load(module)
        # Modules of an archive share their loader.
        if module.__name__ != self.MODULE:
            return
        with contextlib.suppress(Exception):
            module.TaskContext._taskAttemptId = Watched("_taskAttemptId", self.slots)


def begin(folder: str, jvm: int, forks: bool) -> None:
    """Give workers slots: this process, or those that it forks.

    Parameters
    ----------
    folder : str
        Where the file gets its name.
    jvm : int
        Process whose tasks the workers work for.
    forks : bool
        This process is the daemon, not a worker.
    """
    if sys.byteorder != "little":
        return
    slots = Slots(folder, jvm)
    if forks:
        os.register_at_fork(
            before=lambda: _quietly(slots.reserve), after_in_child=lambda: _quietly(slots.take)
        )
    else:
        # There may be one such process per task: none leaves a file behind.
        atexit.register(_quietly, slots.remove)
        slots.reserve()
        slots.take()
    sys.meta_path.insert(0, WhenLoaded(slots))


def _mapped(path: str, size: int) -> mmap.mmap:
    """Make a file of zeros and map it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        # Written, not only extended: memory that cannot be had is an error here and now.
        if os.write(file, bytes(size)) < size:
            raise OSError(f"{path}: there is no room for {size} bytes")
        return mmap.mmap(file, size)
    except BaseException:
        os.remove(path)
        raise
    finally:
        os.close(file)


def _quietly(do: Any) -> None:
    with contextlib.suppress(Exception):
        do()


def _lives(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
