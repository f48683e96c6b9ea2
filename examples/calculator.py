"""Arithmetic by plain functions: the schema is the signature, the description the docstring."""

from toolwright import Agent, Result
from toolwright.testing import ScriptedModel, call


def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


def divide(a: float, b: float) -> float:
    """Divide a by b."""
    return a / b


def main() -> Result:
    """Parallel calls; the division by zero is told to the model and hurts nobody else."""
    model = ScriptedModel(
        [call("add", a=2, b="3"), call("multiply", a=4, b=5), call("divide", a=1, b=0)],
        "2 + 3 = 5 and 4 × 5 = 20; one cannot divide by zero.",
    )
    agent = Agent(name="calculator", model=model, tools=[add, multiply, divide])
    result = agent.run_sync("What are 2+3, 4×5 and 1/0?")
    for answer in result.history[2].results:  # type: ignore[union-attr]
        print(f"{answer.name}: {answer.status}, {answer.text}")
    print(result.text)
    return result


if __name__ == "__main__":
    main()
