import os

from fastapi import FastAPI

from agent import runner
from toolwright.serve import ServeSettings, create_app

settings = ServeSettings(
    token=os.environ.get("AGENT_TOKEN"),  # asked of everyone who opens /agent
    allowed_hosts=("shop.example",),  # the name people reach the host application by
)
app = FastAPI()
app.mount("/agent", create_app(runner, settings=settings))


@app.get("/")
async def home() -> dict[str, str]:
    return {"shop": "open"}
