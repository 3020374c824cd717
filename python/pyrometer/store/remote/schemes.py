"""Schemes of addresses: what reads each, and what that takes. No other place knows them."""

from __future__ import annotations

from typing import Any

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.installation import pip
from pyrometer.store.remote.address import scheme_of, shown

HDFS = "hdfs"
READ_AS = {
    "s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "az": "abfs", "viewfs": HDFS,
}  # fmt: skip
"""Schemes of Hadoop's clients and of others, and that of the reader."""
WRITTEN_BY_HADOOP = frozenset({
    "hdfs", "viewfs", "webhdfs", "swebhdfs", "ofs", "o3fs", "s3", "s3a", "s3n", "gs", "abfs",
    "abfss", "wasb", "wasbs", "oss", "cosn", "obs",
})  # fmt: skip
"""Schemes of file systems that Hadoop's client, or a jar that is known beside it, writes to."""
PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "abfs": "adlfs"}
"""Package that brings a reader."""


def read_as(url: str) -> str:
    """Give an address in the scheme of its reader: two that name the same place are equal.

    Examples
    --------
    >>> read_as("s3a://bucket/run"), read_as("hdfs://name-node:8020/run")
    ('s3://bucket/run', 'hdfs://name-node:8020/run')
    """
    scheme = scheme_of(url)
    return READ_AS.get(scheme, scheme) + url[len(scheme) :]


def reader_of(url: str) -> Any:
    """Give the class of fsspec that reads addresses of a scheme.

    Raises
    ------
    CapabilityError
        If the package that has it is not installed.
    UsageError
        If there is none.
    """
    import fsspec

    scheme = scheme_of(url)
    reader = scheme_of(read_as(url))
    package = PACKAGES.get(reader)
    try:
        return fsspec.get_filesystem_class(reader)
    except (ImportError, ValueError) as error:
        # fsspec knows of some schemes only once their package is there.
        if package is None and isinstance(error, ValueError):
            raise UsageError(
                f"{shown(url)}: nothing reads {scheme}://", "use s3://, gs://, abfs:// or hdfs://"
            ) from error
        raise CapabilityError(
            f"{shown(url)}: no package that reads {scheme}:// is installed",
            f"{pip()} install {package}" if package else f"install it: {error}",
        ) from error


def file_system(url: str) -> Any:
    """Open what reads an address, a file system of fsspec's.

    Raises
    ------
    CapabilityError
        If a package or a library that reads it is not installed.
    UsageError
        If nothing reads it.
    Exception
        Whatever the reader raises.
    """
    reader = reader_of(url)
    options = reader._get_kwargs_from_urls(read_as(url))
    if scheme_of(url) == "viewfs":
        # Hadoop's native client takes a scheme other than its own with the host.
        options["host"] = f"viewfs://{url.partition('://')[2].partition('/')[0]}"
    try:
        return reader(**options)
    except Exception as error:
        if scheme_of(read_as(url)) == HDFS and "Unable to load lib" in str(error):
            why = str(error).splitlines()[0]
            raise CapabilityError(
                f"{shown(url)}: Hadoop's native client is missing ({why})",
                "set JAVA_HOME, HADOOP_HOME (or ARROW_LIBHDFS_DIR) and"
                ' CLASSPATH="$(hadoop classpath --glob)"',
            ) from error
        raise
