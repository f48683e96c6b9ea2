"""Runs that outlive the process: tasks, workers, and calls that wait for days."""

try:
    import sqlalchemy  # noqa: F401 - asked for here, so that its absence is told in words
except ImportError as error:
    raise ImportError("Durable tasks need an extra: pip install 'toolwright[tasks]'") from error

from toolwright.tasks._orchestrator import Orchestrator
from toolwright.tasks._schedule import Schedule
from toolwright.tasks._task import DEFAULT_QUEUE, NewTask, Task, TaskStatus
from toolwright.tasks._worker import Worker, current_task

__all__ = [
    "DEFAULT_QUEUE",
    "NewTask",
    "Orchestrator",
    "Schedule",
    "Task",
    "TaskStatus",
    "Worker",
    "current_task",
]
