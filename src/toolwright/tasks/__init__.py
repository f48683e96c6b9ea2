"""Runs that outlive the process: tasks, workers, and calls that wait for days."""

from toolwright.tasks._orchestrator import Orchestrator
from toolwright.tasks._task import NewTask, Task, TaskStatus
from toolwright.tasks._worker import Worker

__all__ = ["NewTask", "Orchestrator", "Task", "TaskStatus", "Worker"]
