"""What others wrote and Pyrometer is built of: hashes, licences, advisories, bill of materials.

The lock files say what that is: `Cargo.lock`, `requirements/*.txt`, `jvm/maven.lock`. What no lock
file knows, and the texts that come with no package, are in `third-party/`; `deny.toml` is the
policy. Needs nothing but Python, except `sbom` (cyclonedx-python-lib).
"""
