"""What every executor must do, as checks that its author can run."""

from collections.abc import Awaitable, Callable

import anyio

from toolwright.backends import Executor, Limits
from toolwright.errors import ToolError, UsageError
from toolwright.testing._checks import raises

__all__ = ["EXECUTOR_CHECKS", "check_executor"]

_PATIENCE = 20.0
"""Seconds a check may take; an executor that hangs fails rather than hanging its tests."""


async def check_executor(factory: Callable[[], Awaitable[Executor]]) -> None:
    """Run every check on an executor from `factory`, each with an empty workspace of its own.

    What an executor does not claim in its `capabilities` is not demanded of it.
    """
    for check in EXECUTOR_CHECKS:
        executor = await factory()
        try:
            with anyio.fail_after(_PATIENCE):
                await check(executor)
        except (AssertionError, TimeoutError) as error:
            raise AssertionError(f"{check.__name__}: {check.__doc__} {error}") from error
        finally:
            await executor.close()


async def check_streams_and_exit_code(executor: Executor) -> None:
    """Both streams and the exit code come back; a failure is a value."""
    done = await executor.run("echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 3), done
    assert done.ended == "exited", done
    assert not done.ok, done


async def check_arguments_are_not_read_by_a_shell(executor: Executor) -> None:
    """A sequence is a program and its arguments, whatever they look like."""
    done = await executor.run(["echo", "a  b", "$HOME", "*", "; exit 1", "it's"])
    assert done.stdout == "a  b $HOME * ; exit 1 it's\n", done


async def check_unknown_program(executor: Executor) -> None:
    """A program that is not there is a failed command."""
    assert (await executor.run(["no-such-program-at-all"])).exit_code != 0


async def check_stdin(executor: Executor) -> None:
    """What is given as stdin is read; without it there is nothing to read, and nobody waits."""
    assert (await executor.run("cat", stdin="one\ntwo")).stdout == "one\ntwo"
    assert (await executor.run("cat")).stdout == ""


async def check_environment(executor: Executor) -> None:
    """Variables that were given are there, for one command."""
    assert (await executor.run("echo $COLOUR", env={"COLOUR": "red"})).stdout == "red\n"
    assert (await executor.run("echo $COLOUR")).stdout == "\n"


async def check_merged_output(executor: Executor) -> None:
    """Merged, all output is in stdout."""
    done = await executor.run("echo a; echo b >&2; echo c", merge=True)
    assert sorted(done.stdout.split()) == ["a", "b", "c"], done
    assert done.stderr == "", done


async def check_output_is_told_as_it_comes(executor: Executor) -> None:
    """`on_output` is told of everything, by stream."""
    heard: list[tuple[str, str]] = []
    await executor.run(
        "echo a; echo b >&2", on_output=lambda name, text: heard.append((name, text))
    )
    assert "".join(text for name, text in heard if name == "stdout") == "a\n", heard
    assert "".join(text for name, text in heard if name == "stderr") == "b\n", heard


async def check_long_output_keeps_both_ends(executor: Executor) -> None:
    """Of a long output the beginning and the end are kept, and it says so."""
    done = await executor.run("seq 1 5000", limits=Limits(output=200))
    assert done.truncated, done
    assert done.stdout.startswith("1\n2\n3\n"), done
    assert done.stdout.endswith("4999\n5000\n"), done
    assert len(done.stdout) < 400, done


async def check_time_limit(executor: Executor) -> None:
    """A command that takes too long is ended; what it wrote until then is kept."""
    limits = Limits(timeout=0.5, grace=0.1)
    done = await executor.run("echo early; sleep 30; echo late", limits=limits)
    assert (done.ended, done.stdout) == ("timeout", "early\n"), done
    assert not done.ok, done


async def check_cancellation(executor: Executor) -> None:
    """A cancelled command is ended, and the executor can be used again."""
    with anyio.move_on_after(0.3) as scope:
        await executor.run("sleep 30")
    assert scope.cancelled_caught, "the command was not interrupted"
    assert (await executor.run("echo again")).stdout == "again\n"


async def check_background_child_does_not_hold_the_call(executor: Executor) -> None:
    """The call is over when the command is, though a child of it still holds its output."""
    if not executor.capabilities.real_bash:
        return
    with anyio.fail_after(10):
        done = await executor.run("sleep 30 & echo done")
    assert done.stdout == "done\n", done


async def check_nothing_is_left(executor: Executor) -> None:
    """No process outlives its command, whatever session or environment it took."""
    if not (executor.capabilities.leaves_nothing and executor.capabilities.real_bash):
        return
    tick = "while :; do echo x >> ticks; sleep 0.02; done"
    start = f"env -i PATH=$PATH setsid sh -c '{tick}' > /dev/null 2>&1 &"
    await executor.run(f"{start} until [ -s ticks ]; do sleep 0.01; done")
    before = (await executor.run("wc -c < ticks")).stdout
    await anyio.sleep(0.2)
    assert (await executor.run("wc -c < ticks")).stdout == before, "a process went on"


async def check_working_directory(executor: Executor) -> None:
    """Commands start in the workspace, or below it where they are told to."""
    await executor.run("mkdir -p sub/deep && echo here > sub/deep/file")
    assert (await executor.run("cat file", cwd="sub/deep")).stdout == "here\n"
    assert (await executor.run("cat sub/deep/file")).stdout == "here\n"


async def check_files(executor: Executor) -> None:
    """Files are the same for commands and for `read_file` and `write_file`, byte for byte."""
    await executor.write_file("new/dir/data.bin", b"\x00\xff\r\n")
    assert await executor.read_file("new/dir/data.bin") == b"\x00\xff\r\n"
    await executor.write_file("text.txt", "héllo")
    assert (await executor.run("cat text.txt")).stdout == "héllo"
    await executor.run("printf made > made.txt")
    assert await executor.read_file("made.txt") == b"made"
    await raises(ToolError, executor.read_file("not-there.txt"))


async def check_background_jobs(executor: Executor) -> None:
    """A job runs on, can be read and polled, and ends when it is stopped."""
    try:
        job = await executor.start("echo ready; sleep 30")
    except UsageError:
        return  # This kind has none.
    output = ""
    while "ready" not in output:
        output += job.read()
        await anyio.sleep(0.01)
    assert job.poll() is None, "it should still run"
    done = await job.stop()
    assert done.ended == "stopped", done
    assert job.poll() == done
    quick = await executor.start("exit 4")
    assert (await quick.wait()).exit_code == 4


async def check_parallel_commands(executor: Executor) -> None:
    """Commands run side by side without mixing their output."""
    outputs: dict[int, str] = {}

    async def say(number: int) -> None:
        outputs[number] = (await executor.run(f"echo {number}")).stdout

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(say, number)
    assert outputs == {number: f"{number}\n" for number in range(4)}, outputs


async def check_refusals(executor: Executor) -> None:
    """An empty command and a closed executor are the program's mistake; closing twice is not.

    A NUL character in a command is the model's.
    """
    await raises(ToolError, executor.run("echo a\0b"))
    await raises(ToolError, executor.run(["echo", "a\0b"]))
    await raises(UsageError, executor.run("  "))
    await raises(UsageError, executor.run([]))
    await executor.close()
    await executor.close()
    await raises(UsageError, executor.run("true"))


EXECUTOR_CHECKS: tuple[Callable[[Executor], Awaitable[None]], ...] = (
    check_streams_and_exit_code,
    check_arguments_are_not_read_by_a_shell,
    check_unknown_program,
    check_stdin,
    check_environment,
    check_merged_output,
    check_output_is_told_as_it_comes,
    check_long_output_keeps_both_ends,
    check_time_limit,
    check_cancellation,
    check_background_child_does_not_hold_the_call,
    check_nothing_is_left,
    check_working_directory,
    check_files,
    check_background_jobs,
    check_parallel_commands,
    check_refusals,
)
