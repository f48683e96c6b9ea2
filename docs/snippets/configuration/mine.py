"""The functions that agent.yaml names."""


def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b
