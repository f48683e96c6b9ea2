"""What every credential store must do, as checks that its author can run."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from toolwright.messages import AuthCredential, AuthCredentialTypes, OAuth2Auth, Scope
from toolwright.testing._checks import run_checks
from toolwright.tools import Credentials

__all__ = ["CREDENTIAL_CHECKS", "check_credentials"]

ADA = Scope(app_name="app", user_id="ada", session_id="s1")
OTHERS = (
    replace(ADA, user_id="bob"),
    replace(ADA, app_name="other"),
    # Not to be mixed up with the first, however the parts are joined.
    Scope(app_name='app", "ada', user_id="shop", session_id=""),
    Scope(app_name="app/ada", user_id="", session_id=""),
)
SECRET = "a-secret-that-must-not-show"
KEY = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=SECRET)
TOKENS = AuthCredential(
    auth_type=AuthCredentialTypes.OAUTH2,
    oauth2=OAuth2Auth(access_token="ünï€", refresh_token="r" * 5000, expires_at=1.5, scope=""),
)


async def check_credentials(factory: Callable[[], Credentials]) -> None:
    """Run every check on a fresh, empty store from `factory`; the first failure is raised."""
    await run_checks(CREDENTIAL_CHECKS, factory)


async def check_what_is_saved_is_loaded(store: Credentials) -> None:
    """A credential comes back as it was, until another one is saved in its place."""
    for credential in (KEY, TOKENS):
        await store.save(ADA, "shop", credential)
        assert await store.load(ADA, "shop") == credential


async def check_what_is_not_there_is_none(store: Credentials) -> None:
    """Unknown keys are no error, neither to load nor to delete."""
    assert await store.load(ADA, "shop") is None
    await store.delete(ADA, "shop")


async def check_what_is_deleted_is_gone(store: Credentials) -> None:
    """Deleting takes away the one credential and no other."""
    await store.save(ADA, "shop", KEY)
    await store.save(ADA, "mail", TOKENS)
    await store.delete(ADA, "shop")
    assert await store.load(ADA, "shop") is None
    assert await store.load(ADA, "mail") == TOKENS


async def check_answers_are_kept_as_they_are(store: Credentials) -> None:
    """Plain JSON comes back as plain JSON: what a person answered, before it is looked at."""
    for answer in (
        "https://a/?code=1",
        {"api_key": "x", "auth_type": "?"},
        ["a", None, 1.5],
        0,
        "",
    ):
        await store.save(ADA, "answer", answer)
        assert await store.load(ADA, "answer") == answer


async def check_users_and_apps_are_apart(store: Credentials) -> None:
    """A credential belongs to one user of one app, and to all of their sessions."""
    await store.save(ADA, "shop", KEY)
    assert await store.load(replace(ADA, session_id="s2"), "shop") == KEY
    for other in OTHERS:
        assert await store.load(other, "shop") is None


async def check_what_was_loaded_is_a_copy(store: Credentials) -> None:
    """Changing a credential changes nothing in the store."""
    given = KEY.model_copy()
    await store.save(ADA, "shop", given)
    given.api_key = "changed"
    loaded = await store.load(ADA, "shop")
    assert loaded == KEY
    loaded.api_key = "changed"
    assert await store.load(ADA, "shop") == KEY


async def check_many_at_once(store: Credentials) -> None:
    """Calls at the same time do not harm each other."""

    async def keep(number: int) -> None:
        await store.save(ADA, f"key-{number}", KEY)
        assert await store.load(ADA, f"key-{number}") == KEY

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(keep, number)


async def check_no_secret_shows(store: Credentials) -> None:
    """The store's `repr` has no secret in it."""
    await store.save(ADA, "shop", KEY)
    assert SECRET not in repr(store)


CREDENTIAL_CHECKS: tuple[Callable[[Credentials], Awaitable[None]], ...] = (
    check_what_is_saved_is_loaded,
    check_what_is_not_there_is_none,
    check_what_is_deleted_is_gone,
    check_answers_are_kept_as_they_are,
    check_users_and_apps_are_apart,
    check_what_was_loaded_is_a_copy,
    check_many_at_once,
    check_no_secret_shows,
)
"""Each by itself, for tests that want one failure per check."""
