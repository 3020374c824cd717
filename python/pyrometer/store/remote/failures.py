"""What stores raise, in one clear message; and which of it may pass."""

from __future__ import annotations

from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import REDACTED, redacted
from pyrometer.store.remote.address import secrets_of, shown

_LASTING = (
    ImportError, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError,
    NotImplementedError, TypeError, ValueError, AttributeError,
)  # fmt: skip
_NO_CREDENTIALS = frozenset({
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError",
    "TokenRetrievalError", "ProfileNotFound", "SSOTokenLoadError", "UnauthorizedSSOTokenError",
    "DefaultCredentialsError", "RefreshError", "ClientAuthenticationError",
})  # fmt: skip
"""Classes of botocore, google-auth and azure-core, which are imported by none of us."""
_MISSPELLED = frozenset({"ParamValidationError", "InvalidRegionError"})
"""Names that no bucket or region has."""
_REFUSED = ("Forbidden", "AccessDenied", "Unauthorized")

READING = "get the rights to list and to get: reading a run takes both"


def passing(error: BaseException) -> bool:
    """Whether the same request may succeed a moment later."""
    lasting = _NO_CREDENTIALS | _MISSPELLED
    return not isinstance(error, _LASTING) and type(error).__name__ not in lasting


def explained(error: BaseException, url: str, tries: int = 1, rights: str = READING) -> UsageError:
    """Make one message of what a store raised; it repeats no secret of the address."""
    where, why = shown(url), _said(error, url)
    if type(error).__name__ in _NO_CREDENTIALS:
        return UsageError(
            f"{where}: no credentials ({why})",
            "give them as the store's own tools take them (AWS_PROFILE,"
            " GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_…)",
        )
    refused = getattr(error, "status", None) in (401, 403)
    if refused or isinstance(error, PermissionError) or any(word in why for word in _REFUSED):
        return UsageError(f"{where}: not permitted ({why})", rights)
    if isinstance(error, FileNotFoundError):
        return UsageError(f"{where}: no such file, folder or bucket", "check the address")
    if not passing(error):
        return UsageError(f"{where}: cannot be read ({why})", "check the address")
    return UsageError(
        f"{where}: cannot be reached, tried {tries} times ({why})" if tries > 1
        else f"{where}: cannot be reached ({why})",
        "check network, address and endpoint, then run the command again",
    )  # fmt: skip


def _said(error: BaseException, url: str) -> str:
    text = " ".join(str(error).split())
    for secret in (url, *secrets_of(url)):
        text = text.replace(secret, shown(url) if secret == url else REDACTED)
    text = redacted("".join(letter for letter in text if letter.isprintable()))[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
