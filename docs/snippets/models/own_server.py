import os

from toolwright import Agent
from toolwright.models import OpenAIChatModel

model = OpenAIChatModel(
    "qwen3",
    provider="lab",
    base_url=os.environ.get("LAB_URL", "http://gpu.example.com:8000/v1"),
)
agent = Agent(name="helper", model=model)


def main() -> str:
    return agent.run_sync("Hello").text


if __name__ == "__main__":
    print(main())
