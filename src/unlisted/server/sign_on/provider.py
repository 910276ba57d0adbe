"""The OpenID provider: what it says about itself, signing in by a code, and whether a token is really its own.

The provider is asked when somebody signs in, never when a question is answered. One that hangs or is away is not
waited for: a few threads at most talk to it, each for a few seconds, and after a failure nobody tries for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import Any

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.jwk import KeySet

from unlisted.errors import AccessError
from unlisted.server.sign_on.settings import SignOnSettings

Claims = Mapping[str, Any]

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Signatures with a public key alone: what anybody could make with what is public (`none`, `HS256`) is none."""

_SECONDS = 5.0
_AT_ONCE = 4
_KNOWN_FOR, _KNOWN_AT_MOST, _NOT_AGAIN_FOR = 3600.0, 86_400.0, 10.0
_CLOCKS_DIFFER = 60
_LONGEST_TOKEN = 16_384


class TokenError(Exception):
    """A token is not one to be trusted. The text says why, and quotes nothing of it."""


class TokenOverError(TokenError):
    """A token was right, and its time is over."""


class Provider:
    """One OpenID provider, as its settings name it."""

    def __init__(self, settings: SignOnSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock, self._talking = Lock(), BoundedSemaphore(_AT_ONCE)
        self._known: tuple[float, dict[str, Any], KeySet] | None = None
        self._refused_until = -float("inf")

    def authorization_url(self, state: str, nonce: str, verifier: str) -> str:
        """Return where a browser goes to sign in."""
        described, _ = self._described()
        with self._client() as client:
            url, _ = client.create_authorization_url(
                described["authorization_endpoint"], state=state, code_verifier=verifier, nonce=nonce
            )
        return str(url)

    def redeem(self, code: str, nonce: str, verifier: str) -> dict[str, Any]:
        """Return what the provider says about whoever came back with a code."""
        described, _ = self._described()
        with self._one_of_few(), self._client() as client:
            try:
                given = client.fetch_token(
                    described["token_endpoint"],
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=verifier,
                    redirect_uri=self._settings.callback,
                )
            except OAuthError as refused:
                # The provider's own words could be anybody's, who sent the code.
                raise TokenError("the provider refused the code") from refused
            except (httpx2.HTTPError, ValueError) as away:
                raise self._away() from away
            told = self.read(given.get("id_token"), self._settings.client_id, nonce, given.get("access_token"))
            if self._settings.groups_claim not in told and "userinfo_endpoint" in described:
                told |= self._further(client, described["userinfo_endpoint"], told["sub"])
        return told

    def read(
        self, token: object, audience: str, nonce: str | None = None, access_token: str | None = None
    ) -> dict[str, Any]:
        """Return the claims of a token that the provider signed, for this audience, and whose time is now."""
        if not isinstance(token, str) or len(token) > _LONGEST_TOKEN:
            raise TokenError("there is no token, or it is too long")
        try:
            found = self._signed(token)
            claims = CodeIDToken(
                found.claims,
                found.header,
                {
                    "iss": {"essential": True, "value": self._settings.issuer},
                    "aud": {"essential": True, "value": audience},
                    "exp": {"essential": True},
                },
                # Of a token for several services, one that was issued to another is none of ours.
                {"nonce": nonce, "access_token": access_token, "client_id": nonce and self._settings.client_id},
            )
            claims.validate(leeway=_CLOCKS_DIFFER)
        except ExpiredTokenError:
            raise TokenOverError("it has expired") from None
        except JoseError as wrong:
            raise TokenError(_REASONS.get(wrong.error, f"it is not right ({wrong.error})")) from wrong
        except (ValueError, TypeError, KeyError) as wrong:
            raise TokenError("it cannot be read") from wrong
        return dict(found.claims)

    def _signed(self, token: str) -> jwt.Token:
        """Return a token whose signature is right; a key that is new at the provider is fetched once."""
        _, keys = self._described()
        try:
            return jwt.decode(token, keys, algorithms=list(ALGORITHMS))
        except (JoseError, ValueError) as wrong:
            renewed = self._renewed(keys) if _is_unknown_key(wrong) else None
            if renewed is None:
                raise
        return jwt.decode(token, renewed, algorithms=list(ALGORITHMS))

    def _further(self, client: OAuth2Client, url: str, subject: str) -> dict[str, Any]:
        """Return what the provider tells apart from the token, if it is about the same person."""
        try:
            told = client.get(url).raise_for_status().json()
        except (httpx2.HTTPError, ValueError) as away:
            raise self._away() from away
        if not isinstance(told, dict) or told.get("sub") != subject:
            raise TokenError("what the provider tells of it is about somebody else")
        return {name: value for name, value in told.items() if name == self._settings.groups_claim}

    def _described(self) -> tuple[dict[str, Any], KeySet]:
        """Return what the provider says of itself, and its keys: of the last hour; while it is away, of a day."""
        known = self._known
        if known is not None and self._clock() < known[0] + _KNOWN_FOR:
            return known[1], known[2]
        try:
            return self._fetched(known)
        except ProviderAwayError:
            if known is None or self._clock() >= known[0] + _KNOWN_AT_MOST:
                raise
            return known[1], known[2]

    def _renewed(self, keys: KeySet) -> KeySet | None:
        """Return the provider's keys if there are newer ones; it is asked for them every few seconds at most."""
        known = self._known
        if known is not None and known[2] is not keys:
            return known[2]
        if known is None or self._clock() < known[0] + _NOT_AGAIN_FOR:
            return None
        return self._fetched(known)[1]

    def _fetched(self, known: tuple[float, dict[str, Any], KeySet] | None) -> tuple[dict[str, Any], KeySet]:
        if not self._lock.acquire(timeout=_SECONDS):
            raise self._away()
        try:
            if self._known is not None and self._known is not known:
                return self._known[1], self._known[2]
            if self._clock() < self._refused_until:
                raise self._away()
            described = self._get(f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration")
            if described.get("issuer") != self._settings.issuer:
                raise self._away("it says that it is another issuer")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if not isinstance(described.get(name), str):
                    raise self._away(f"it does not say its {name}")
            try:
                keys = KeySet.import_key_set(self._get(described["jwks_uri"]))  # type: ignore[arg-type]
            except (JoseError, ValueError, TypeError, KeyError) as wrong:
                raise self._away("its keys cannot be read") from wrong
            self._known = (self._clock(), described, keys)
            return described, keys
        finally:
            self._lock.release()

    def _get(self, url: str) -> dict[str, Any]:
        try:
            told = httpx2.get(url, timeout=_SECONDS).raise_for_status().json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as away:
            raise self._away() from away
        if not isinstance(told, dict):
            raise self._away("it does not answer as a provider does")
        return told

    def _away(self, why: str = "it does not answer") -> ProviderAwayError:
        self._refused_until = self._clock() + _NOT_AGAIN_FOR
        return ProviderAwayError(why)

    @contextmanager
    def _one_of_few(self) -> Iterator[None]:
        """Talk to the provider, if not too many do: whoever floods it must not take all threads of the service."""
        if not self._talking.acquire(timeout=_SECONDS):
            raise ProviderAwayError("too many people sign in at once")
        try:
            yield
        finally:
            self._talking.release()

    def _client(self) -> OAuth2Client:
        told = self._settings
        return OAuth2Client(
            client_id=told.client_id,
            client_secret=told.client_secret,
            scope=" ".join(told.scopes),
            redirect_uri=self._settings.callback,
            code_challenge_method="S256",
            timeout=_SECONDS,
        )


class ProviderAwayError(AccessError):
    """The provider cannot be asked now. Keys are taken as ever."""

    def __init__(self, why: str) -> None:
        self.why = why
        text = "The sign-on service cannot be asked at this moment. Try again soon; keys are taken as ever."
        super().__init__(503, text, retry_after=int(_NOT_AGAIN_FOR))


_REASONS = {
    "bad_signature": "its signature is not the provider's",
    "unsupported_algorithm": "it is signed in a way that is not allowed",
    "missing_algorithm": "it is not signed",
    "invalid_key_id": "it is signed with a key that is not the provider's",
    "invalid_claim": "it is by another issuer, for another audience or for another sign-in",
    "missing_claim": "it does not say whose it is, by whom, for whom and until when",
}


def _is_unknown_key(wrong: Exception) -> bool:
    return isinstance(wrong, JoseError) and wrong.error == "invalid_key_id"
