"""Threads and lifetimes: where blocking code runs, and how everything that was opened is closed."""

from toolwright.concurrency._closing import close_all, first_cause
from toolwright.concurrency._finish import finish, outlast
from toolwright.concurrency._forks import begin_anew_after_fork
from toolwright.concurrency._io_threads import (
    check_wanted,
    in_io_thread,
    in_stoppable_thread,
    wait_in_thread,
)
from toolwright.concurrency._once import Once
from toolwright.concurrency._session_table import SessionTable
from toolwright.concurrency._user_threads import (
    await_from_thread,
    call_user,
    in_user_thread,
    set_thread_limit,
)

__all__ = [
    "Once",
    "SessionTable",
    "await_from_thread",
    "begin_anew_after_fork",
    "call_user",
    "check_wanted",
    "close_all",
    "finish",
    "first_cause",
    "in_io_thread",
    "in_stoppable_thread",
    "in_user_thread",
    "outlast",
    "set_thread_limit",
    "wait_in_thread",
]
