from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from agent import runner
from toolwright.serve import create_app

agent_app = create_app(runner)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with agent_app.router.lifespan_context(agent_app):
        yield
    await runner.close()


app = FastAPI(lifespan=lifespan)
app.mount("/agent", agent_app)
