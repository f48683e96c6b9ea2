"""Interpreters, package managers and database shells: to list one is to allow any code it is given."""

from toolwright.builtin.bash._grammar import program

__all__ = ["PROGRAMS"]

PROGRAMS = program(
    "python python2 python3 pypy pypy3 ipython pip pip3 pipx uv uvx poetry pdm hatch conda mamba "
    "node nodejs deno bun npm npx yarn pnpm corepack tsx ts-node perl ruby irb gem bundle rake php "
    "composer lua luajit Rscript R julia java javac jshell kotlin kotlinc scala groovy swift ghc "
    "runghc ocaml elixir mix erl guile sbcl tclsh pwsh osascript sqlite3 psql mysql mongosh redis-cli "
    "docker podman nerdctl docker-compose kubectl helm terraform ansible ansible-playbook",
    base="code",
)
