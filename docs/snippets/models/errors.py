from toolwright import Agent, ModelError

agent = Agent(name="helper", model="openai:gpt-5-mini")


def main() -> str:
    try:
        return agent.run_sync("Hello").text
    except ModelError as error:
        if error.reason == "rate_limit" and error.retry_after:
            return f"Try again in {error.retry_after:.0f} seconds."
        return f"No answer ({error.reason}): {error}"


if __name__ == "__main__":
    print(main())
