from toolwright import Agent, ModelSettings
from toolwright.models import AnthropicModel, Price, Retries, set_price

long = Price(input=2.0, output=6.0, cached=0.2)  # of a request with more input tokens than that
set_price("anthropic:claude-lab", Price(input=1.0, output=4.0, cached=0.1, above={200_000: long}))

agent = Agent(
    name="careful",
    model=AnthropicModel("claude-lab", retries=Retries(attempts=5, longest_wait=120)),
    settings=ModelSettings(reasoning="low", max_tokens=4000, timeout=60),
)


def main() -> tuple[str, float]:
    result = agent.run_sync("Hello")
    return result.text, result.usage.cost


if __name__ == "__main__":
    print(main())
