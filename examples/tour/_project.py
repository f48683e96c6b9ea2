"""The project that the tour works on: a cash till with a bug, and the tests that show it."""

from pathlib import Path

__all__ = ["write_project"]

_README = """\
# Till

Adds up prices, takes off a discount and gives change. Run the tests with `python -m unittest`.
"""
_TILL = '''\
"""The cash till of a small shop."""


def total(prices: list[int], discount_percent: int = 0) -> int:
    """What a customer pays, in cents."""
    return sum(prices) * (1 - discount_percent) // 100


def change(paid: int, due: int) -> int:
    """What the customer gets back, in cents."""
    return paid - due
'''
_TESTS = """\
import unittest

from till import change, total


class TillTest(unittest.TestCase):
    def test_total_without_discount(self) -> None:
        self.assertEqual(total([250, 199, 51]), 500)

    def test_total_with_discount(self) -> None:
        self.assertEqual(total([1000, 1000], discount_percent=10), 1800)

    def test_change(self) -> None:
        self.assertEqual(change(paid=1000, due=720), 280)


if __name__ == "__main__":
    unittest.main()
"""


def write_project(folder: Path) -> None:
    """Put the project into a folder, as it was delivered; other files are left as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("README.md", _README), ("till.py", _TILL), ("test_till.py", _TESTS)):
        (folder / name).write_text(text)
