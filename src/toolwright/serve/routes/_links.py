"""The page behind a signed link: it says what will happen, and one button does it."""

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from toolwright.messages import Answered, visible
from toolwright.serve._links import LinkError, Links, SignedAnswer
from toolwright.serve._problems import ProblemError
from toolwright.serve._workbench import Workbench

__all__ = ["link_routes"]

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>{title}</title>
<link rel="icon" href="../icon.svg"><link rel="stylesheet" href="../assets/index.css"></head>
<body><main class="sign-in"><form method="post"><img src="../icon.svg" alt="" width="48" height="48">
<h1>{title}</h1><p>{text}</p>{button}</form></main></body></html>"""
# The address is the key: it must not travel in a Referer, but the form's Origin must be sent.
_HEADERS = {"Referrer-Policy": "same-origin"}
_SAID: dict[Answered, tuple[int, str, str]] = {
    "accepted": (200, "Thank you", "Your answer was taken; the work goes on."),
    "duplicate": (409, "Already answered", "Somebody has answered this before you."),
    "finished": (409, "Too late", "The run this call belongs to has ended."),
    "unknown": (404, "Not waiting", "This call is not waiting for an answer."),
    "expired": (410, "Too late", "The deadline of this call has passed."),
}


def link_routes(bench: Workbench, links: Links) -> list[Route]:
    """`GET` shows the page and changes nothing, since mail programs look at links; `POST` answers."""

    async def show(request: Request) -> HTMLResponse:
        try:
            signed = links.read(request.path_params["token"])
        except LinkError as error:
            return _page(410, "This link does not work", str(error))
        text = f"For call {signed.call_id} of {signed.place} {signed.id}."
        return _page(200, signed.label, text, button=signed.label)

    async def answer(request: Request) -> HTMLResponse:
        try:
            signed = links.read(request.path_params["token"])
        except LinkError as error:
            return _page(410, "This link does not work", str(error))
        try:
            return _page(*_SAID[await _give(bench, signed)])
        except ProblemError as error:
            return _page(error.status, "This answer was refused", error.detail)

    path = "/links/{token}"
    return [Route(path, show, methods=["GET"]), Route(path, answer, methods=["POST"])]


async def _give(bench: Workbench, signed: SignedAnswer) -> Answered:
    if signed.place == "task":
        if bench.tasks is None:
            return "unknown"
        return await bench.tasks.answer(signed.id, signed.call_id, signed.answer)
    try:
        row = await bench.sessions.find(signed.id)
    except ProblemError:
        return "unknown"
    return await bench.runs.answer(row, signed.call_id, signed.answer, signed.key)


def _page(status: int, title: str, text: str, button: str = "") -> HTMLResponse:
    pressed = f'<button type="submit" class="primary wide">{_seen(button)}</button>'
    html = _PAGE.format(title=_seen(title), text=_seen(text), button=pressed if button else "")
    return HTMLResponse(html, status, headers=_HEADERS)


def _seen(text: str) -> str:
    return escape(visible(text))
