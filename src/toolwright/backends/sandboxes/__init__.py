"""Executors with walls: what runs in them can do no more than they let it."""

from toolwright.backends.sandboxes._bubblewrap import Bubblewrap
from toolwright.backends.sandboxes._landlock import Landlock
from toolwright.backends.sandboxes._os_sandbox import OsSandbox
from toolwright.backends.sandboxes._walls import Room, Walls

__all__ = ["Bubblewrap", "Landlock", "OsSandbox", "Room", "Walls"]
