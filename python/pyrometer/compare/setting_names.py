"""Which settings can matter to the time, and which differ in any two applications."""

from __future__ import annotations

import re

# One place for all of them: what is listed, and why a difference of it says nothing about time.
_MEANINGLESS: tuple[tuple[str, str], ...] = (
    # Given to every application again by Spark or the resource manager.
    (r"spark\.app\.(id|name|startTime|submitTime|attempt\.id)", "name and time of an application"),
    (r"spark\.(yarn\.app\.id|executor\.id|databricks\..*[iI]d)", "number from the manager"),
    (r"spark\.kubernetes\..*(pod\.name|pod\.uid|resourceNamePrefix|submitInDriver)", "pod's name"),
    (r"spark\.app\.initial\..*", "URLs with the driver's port"),
    (r"spark\.plugins\.internal\..*", "what a measurement passes to its own plugin"),
    # Where something listens.
    (r".*[.](port|host|hostname|bindAddress|address)", "address"),
    (r".*(appUIAddress|webproxy|PROXY_HOSTS|PROXY_URI_BASES).*", "address of the web page"),
    (r"spark\.(ui|history|yarn\.historyServer|eventLog|acls|admin|modify|authenticate)\..*",
     "pages, logs of events and who may see them"),
    (r"spark\.driver\.appUIAddress", "address of the web page"),
    # Folders of one application or user; what lies in them is seen by its time.
    (r"java\.io\.tmpdir|user\.(dir|home|name|timezone|language|country)", "who ran it, and where"),
    (r"spark\.repl\..*|scala\.usejavacp|jline\..*|env\..*", "the shell's"),
    (r"spark\.(home|sparkr|pyspark\.archives)\b.*", "where Spark lies"),
    (r"spark\.sql\.(warehouse\.dir|hive\.metastore\..*)", "where tables are kept"),
    (r"spark\.files|spark\.(submit|yarn\.dist|yarn\.secondary|yarn\.queue|yarn\.tags)\b.*",
     "files and names given to the submission"),
    (r"spark\..*(kerberos|token|password|secret|keytab|principal).*", "who may do what"),
    # The command repeats settings; each is listed on its own.
    (r"sun\.java\.(command|launcher)|java\.class\.path|spark\.(master|submit\..*)",
     "repeats what is listed elsewhere"),
    # Parts of the JVM's and the system's version, which is listed.
    (r"java\.(home|version.*|runtime\..*|vendor.*|vm\..*|specification\..*|library\.path)"
     r"|java\.(vm\.)?compressedOopsMode|java\.class\.version", "the JVM's version is listed"),
    (r"jdk\.debug|jetty\.git\.hash|sun\.(?!nio).*|file\..*|line\.separator|path\.separator"
     r"|os\.name|native\.encoding|std(out|err|in)\.encoding|awt\..*",
     "build and terminal"),
)  # fmt: skip
_IGNORED = re.compile("|".join(f"(?:{pattern})" for pattern, _ in _MEANINGLESS))

# What most often changes how long the same work takes, by the first words of the name.
_FIRST = (
    "spark.sql.shuffle.", "spark.sql.adaptive", "spark.sql.autoBroadcast", "spark.default.",
    "spark.executor.", "spark.dynamicAllocation.", "spark.sql.files.", "spark.memory.",
    "spark.driver.", "spark.sql.", "spark.shuffle.", "spark.task.", "spark.",
)  # fmt: skip


def can_matter(name: str) -> bool:
    """Whether another value of a setting can be why another time is taken.

    Examples
    --------
    >>> can_matter("spark.driver.port"), can_matter("sun.java.command"), can_matter("spark.x.y")
    (False, False, True)
    >>> can_matter("spark.sql.shuffle.partitions"), can_matter("spark.eventLog.dir")
    (True, False)
    >>> can_matter("spark.files.maxPartitionBytes"), can_matter("spark.ssl.enabled")
    (True, True)
    """
    return _IGNORED.fullmatch(name) is None


def rank(name: str) -> int:
    """Order settings, those first that most often matter.

    Examples
    --------
    >>> rank("spark.executor.memory") < rank("spark.io.encryption.enabled") < rank("file.x")
    True
    """
    return next((n for n, start in enumerate(_FIRST) if name.startswith(start)), len(_FIRST))
