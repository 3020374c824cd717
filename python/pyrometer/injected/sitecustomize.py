"""Run by every Python of an observed application at its start, because PYTHONPATH leads here.

Waits for ``pyspark`` to be imported and then has the process sampled; a Python that never imports
it is left alone. Another ``sitecustomize`` further down the path runs as it would have. Nothing
here can fail the process.
"""

from __future__ import annotations

import contextlib
import os
import sys


def _watch() -> None:
    folder = os.environ.get("PYROMETER_PYTHON_DIR")
    if not folder or not os.path.isdir(folder):
        return

    class WhenImported:
        """Finds nothing; sees the first import of ``pyspark``."""

        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            """See whether it is ``pyspark``; leave finding it to others."""
            if name != "pyspark":
                return
            try:
                sys.meta_path.remove(self)
                import pyrometer_sampler  # type: ignore[import-not-found]
                import pyrometer_start  # type: ignore[import-not-found]

                pyrometer_start.begin(pyrometer_sampler.Sampler, folder)
            except BaseException:  # noqa: S110 - whatever went wrong, the application goes on
                pass

    sys.meta_path.insert(0, WhenImported())


def _next() -> None:
    """Run the ``sitecustomize`` that this one hides."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    others = [p for p in sys.path if os.path.abspath(p or os.curdir) != here]
    spec = PathFinder.find_spec(__name__, others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules[__name__] = module
    spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    with contextlib.suppress(BaseException):
        _watch()
    _next()
