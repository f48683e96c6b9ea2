from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from agent import runner
from toolwright.serve import create_app


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("The shop")


app = Starlette(routes=[Route("/", home), Mount("/agent", create_app(runner))])
