"""Run by every Python of an observed application at its start, because PYTHONPATH leads here.

Waits for ``pyspark`` to be imported and then has the process sampled, and say what it works for; a
Python that never imports it is left alone. Another ``sitecustomize`` further down the path runs as
it would have. Nothing here can fail the process, of whatever version: so neither annotations nor
newer syntax.
"""

import os
import sys

# mypy: allow-untyped-defs, allow-untyped-calls


class WhenImported:
    """Finds nothing; sees the first import of ``pyspark``."""

    def __init__(self, samples, contexts):
        self.samples = samples
        self.contexts = contexts

    def find_spec(self, name, path=None, target=None):
        """See whether it is ``pyspark``; leave finding it to others."""
        if name != "pyspark":
            return
        try:
            sys.meta_path.remove(self)
            import pyrometer_start  # type: ignore[import-not-found]

            pyrometer_start.begin(self.samples, self.contexts)
        except BaseException:  # noqa: S110 - whatever went wrong, the application goes on
            pass


def _watch():
    names = ("PYROMETER_PYTHON_DIR", "PYROMETER_CONTEXT_DIR")
    wanted = [os.environ.get(name) for name in names]
    folders = [folder if folder and os.path.isdir(folder) else None for folder in wanted]
    if any(folders) and sys.version_info >= (3, 8):
        sys.meta_path.insert(0, WhenImported(*folders))


def _next():
    """Run the ``sitecustomize`` that this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    ours = [i for i, p in enumerate(sys.path) if os.path.abspath(p or os.curdir) == here]
    taken = [(i, sys.path.pop(i)) for i in reversed(ours)]
    this = sys.modules.pop(__name__)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        sys.modules[__name__] = this
        if getattr(error, "name", __name__) != __name__:
            raise
    finally:
        for i, path in reversed(taken):
            sys.path.insert(i, path)


if __name__ == "sitecustomize":
    _watch()
    _next()
