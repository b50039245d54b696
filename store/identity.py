"""Sign-in by one-time links and the browser sessions they are exchanged for (H19); only SHA-256 digests are kept."""

import hashlib
import secrets
from datetime import timedelta
from typing import cast

from sqlalchemy import CursorResult, delete, select, update

from store.database import Transaction
from store.tables_host import LoginLinkRow, WebSessionRow

LINK_LIFETIME = timedelta(minutes=10)
SESSION_LIFETIME = timedelta(days=180)


def token_hash(token: str) -> str:
    """The SHA-256 digest, in hexadecimal, under which a token is kept."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


async def create_login_link(tx: Transaction) -> str:
    """Make a one-time link's token: valid for 10 minutes, once (H19). Old links and sessions are forgotten."""
    await _forget_old(tx)
    token = secrets.token_urlsafe(32)
    tx.session.add(
        LoginLinkRow(
            user_space=tx.scope.user_space,
            domain=tx.scope.domain,
            token_hash=token_hash(token),
            expires_at=tx.now + LINK_LIFETIME,
        )
    )
    await tx.session.flush()
    return token


async def redeem_login_link(tx: Transaction, token: str, credential: str) -> str | None:
    """Exchange a link's token for a new browser session's token; None when it is unknown, used or too old.

    Args:
        tx: A write transaction: of two redemptions one wins.
        token: What the link carried.
        credential: Digest of the owner credential that the session depends on; its rotation ends the session.
    """
    used = await tx.session.execute(
        update(LoginLinkRow)
        .where(
            LoginLinkRow.token_hash == token_hash(token),
            LoginLinkRow.user_space == tx.scope.user_space,
            LoginLinkRow.domain == tx.scope.domain,
            LoginLinkRow.used_at.is_(None),
            LoginLinkRow.expires_at > tx.now,
        )
        .values(used_at=tx.now)
    )
    if cast("CursorResult[object]", used).rowcount != 1:
        return None
    session = secrets.token_urlsafe(32)
    tx.session.add(
        WebSessionRow(
            user_space=tx.scope.user_space,
            domain=tx.scope.domain,
            token_hash=token_hash(session),
            credential=credential,
            created_at=tx.now,
        )
    )
    await tx.session.flush()
    return session


async def session_credential(tx: Transaction, token: str) -> str | None:
    """The digest of the owner credential that a browser session depends on; None for no living session."""
    return await tx.session.scalar(
        select(WebSessionRow.credential).where(
            WebSessionRow.token_hash == token_hash(token),
            WebSessionRow.user_space == tx.scope.user_space,
            WebSessionRow.domain == tx.scope.domain,
            WebSessionRow.created_at > tx.now - SESSION_LIFETIME,
        )
    )


async def _forget_old(tx: Transaction) -> None:
    await tx.session.execute(delete(LoginLinkRow).where(LoginLinkRow.expires_at < tx.now - LINK_LIFETIME))
    await tx.session.execute(delete(WebSessionRow).where(WebSessionRow.created_at < tx.now - SESSION_LIFETIME))
