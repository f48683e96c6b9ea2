"""Build tools, compilers and test runners: they run what the project's files say."""

from toolwright.builtin.bash._grammar import program

__all__ = ["PROGRAMS"]

PROGRAMS = program(
    "make gmake cmake ctest ninja meson bazel bazelisk cargo rustc rustup go gofmt gcc g++ cc c++ clang "
    "clang++ mvn gradle ant sbt just task dotnet pytest py.test tox nox coverage unittest mypy pyright "
    "pyrefly ruff black isort flake8 pylint pre-commit jest vitest mocha ava tsc eslint prettier vite "
    "webpack rollup esbuild next turbo nx phpunit rspec rubocop zig cabal stack dune",
    base="code",
)
