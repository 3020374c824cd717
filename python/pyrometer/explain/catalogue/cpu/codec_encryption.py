"""Tasks spend CPU on encrypting and decrypting.

What it is
    Spilled and shuffled data (`spark.io.encryption.enabled`), the network between executors
    (`spark.network.crypto.enabled`, TLS) or files themselves are encrypted.

Mechanism
    Each byte passes through the cipher on its way out and in. The simulator removes the CPU of
    samples inside ciphers.

Evidence
    CPU samples of tasks with a cipher in the stack.

Remedy
    If your security policy allows it: switch off the encryption that protects nothing here (local
    disks of your own host). Otherwise AES in hardware, a newer Java, or GCM instead of CBC.

When it is wrong
    Where encryption is required, only the choice of cipher can save anything.

Source
    CPU samples; Spark's security page, "Local Storage Encryption" and "Network Encryption".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.saying import factor, machine, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import through
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect
from pyrometer.explain.schema import Remedy

FRAMES = (
    r"^(javax\.crypto\.|com\.sun\.crypto\.|sun\.security\.ssl\.|org\.apache\.commons"
    r"\.crypto\.|org\.apache\.spark\.security\.Crypto|org\.apache\.spark\.network\.crypto\."
    r"|org\.apache\.parquet\.crypto\.|EVP_|aesni_|aes_gcm|CRYPTO_)"
)
SWITCHES = ("spark.io.encryption.enabled", "spark.network.crypto.enabled", "spark.ssl.enabled")


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = through(facts, FRAMES)
    if not found.found:
        return
    parts = found.by_stage
    cost = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in parts.items()}
    on = [name for name in SWITCHES if facts.is_on(name)]
    where = place(facts, "setting" if on else "jvm", cost, setting=on[0] if on else None)
    by = f" with {', '.join(on)}" if on else ""
    remedies: list[Remedy] = [
        factor(name, "false", "if your security policy allows it: do not encrypt here")
        for name in on
    ]
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.percent(found.estimate.value)} of the CPU of tasks"
            f" ({units.duration(sum(cost.values()))}) encrypts and decrypts{by}."
        ),
        change=(facts.less_cpu("encryption", parts),),
        extent=found.extent(0.9, 1.0),
        evidence=[
            shown_by("task CPU in ciphers", found.estimate, "ratio", "samples",
                 "show --json: categories", page(where)),
        ],
        remedies=[*remedies, machine("use CPUs and a Java that have AES in hardware")],
    )  # fmt: skip


RULE = Rule(
    code="codec.encryption",
    title="Tasks encrypt and decrypt",
    cause="encryption of data or network",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Run once without the encryption: if the stages still need as much CPU, it is not the"
    " cipher.",
)
