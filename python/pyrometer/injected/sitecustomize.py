"""Run by every Python of an observed application at its start, because PYTHONPATH leads here.

Waits for ``pyspark`` to be imported and then has the process sampled; a Python that never imports
it is left alone. Another ``sitecustomize`` further down the path runs as it would have. Nothing
here can fail the process, of whatever version: so neither annotations nor newer syntax.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
import os
import sys


class WhenImported:
    """Finds nothing; sees the first import of ``pyspark``."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        """See whether it is ``pyspark``; leave finding it to others."""
        if name != "pyspark":
            return
        try:
            sys.meta_path.remove(self)
            import pyrometer_sampler  # type: ignore[import-not-found]
            import pyrometer_start  # type: ignore[import-not-found]

            pyrometer_start.begin(pyrometer_sampler.Sampler, self.folder)
        except BaseException:  # noqa: S110 - whatever went wrong, the application goes on
            pass


def _watch():
    folder = os.environ.get("PYROMETER_PYTHON_DIR")
    if folder and os.path.isdir(folder) and sys.version_info >= (3, 8):
        sys.meta_path.insert(0, WhenImported(folder))


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
