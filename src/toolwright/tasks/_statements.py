"""The queue's statements that run often, built once."""

from sqlalchemy import (
    bindparam,
    case,
    delete,
    func,
    literal,
    select,
    update,
)

from toolwright.tasks._schema import (
    INBOX,
    IS_PROMPT,
    IS_QUEUED,
    PROMPTS,
    PRUNED,
    TASKS,
)
from toolwright.tasks._task import WAITING

__all__ = [
    "ALL_OF",
    "CANCEL",
    "CANCELLED",
    "CLAIM",
    "DESCENDANTS",
    "FAMILY",
    "FORGOTTEN",
    "HELD",
    "LETTERS",
    "LOCK_ALL",
    "MOMENTS",
    "PLACES",
    "PROMPTED",
    "REQUEUE",
    "SETTLE",
    "STEERED",
    "TAKE_MESSAGE",
    "TRY_AGAIN",
    "WAKE",
    "WAKE_DUE",
]

_IS_IT = TASKS.c.id == bindparam("task")

_SAME_LINE = (
    IS_QUEUED,
    TASKS.c.agent == bindparam("agent"),
    TASKS.c.queue == bindparam("queue"),
    TASKS.c.priority == bindparam("priority"),
)
PLACES = select(
    select(func.min(TASKS.c.place)).where(*_SAME_LINE, IS_PROMPT).scalar_subquery(),
    select(func.max(TASKS.c.place))
    .where(*_SAME_LINE, TASKS.c.owner_id == bindparam("owner"))
    .scalar_subquery(),
)
"""The head of a line, and an owner's last place in it."""

CLAIM = (
    update(TASKS)
    .where(_IS_IT)
    .values(
        status="ACTIVE", worker=bindparam("by"), started_at=bindparam("now"),
        updated_at=bindparam("now"), attempts=TASKS.c.attempts + 1, wake_at=None,
        crashes=func.coalesce(TASKS.c.crashes, 0) + 1,
        version=case((TASKS.c.cancel.is_(True), TASKS.c.version), else_=bindparam("code")),
    )
)  # fmt: skip

_AMONG = bindparam("ids", expanding=True)
ALL_OF = select(TASKS).where(TASKS.c.id.in_(_AMONG))
LOCK_ALL = select(TASKS.c.id).where(TASKS.c.id.in_(_AMONG)).order_by(TASKS.c.id).with_for_update()
PROMPTED = select(PROMPTS).where(PROMPTS.c.task_id.in_(_AMONG))
CANCELLED = select(TASKS.c.id).where(TASKS.c.id.in_(_AMONG), TASKS.c.cancel.is_(True))
LETTERS = select(INBOX).where(INBOX.c.task_id.in_(_AMONG)).order_by(INBOX.c.id)

HELD = select(
    TASKS.c.id, TASKS.c.status, TASKS.c.worker, TASKS.c.cancel, TASKS.c.parent_id,
    TASKS.c.parent_call, TASKS.c.retries, TASKS.c.failures,
).where(_IS_IT)  # fmt: skip
"""What decides how a task moves on."""
STEERED = select(INBOX.c.id).where(INBOX.c.task_id == bindparam("task")).limit(1)
"""Whether a message was left for a task that its journal does not have."""

SETTLE = (
    update(TASKS)
    .where(_IS_IT)
    .values(
        status=bindparam("to"), text=bindparam("said"), reason=bindparam("why"),
        wake_at=bindparam("wake"), failures=bindparam("failed"),
        start_at=func.coalesce(bindparam("start", type_=TASKS.c.start_at.type), TASKS.c.start_at),
        worker=None, updated_at=bindparam("now"), crashes=0,
    )
)  # fmt: skip

# A request to cancel stays: whoever takes the task up next will see to it.
REQUEUE = update(TASKS).values(
    status="QUEUED", worker=None, wake_at=None, updated_at=bindparam("now")
)
TRY_AGAIN = REQUEUE.values(cancel=False, failures=0, reason="", text="", crashes=0)
WAKE = REQUEUE.where(_IS_IT, TASKS.c.status.in_(bindparam("were", expanding=True)))
WAKE_DUE = REQUEUE.where(
    TASKS.c.wake_at <= bindparam("now"), TASKS.c.status.in_((*WAITING, "COMPLETED"))
)
MOMENTS = select(
    select(func.min(TASKS.c.wake_at)).where(TASKS.c.wake_at.is_not(None)).scalar_subquery(),
    select(func.min(TASKS.c.start_at))
    .where(IS_QUEUED, TASKS.c.start_at > bindparam("now"))
    .scalar_subquery(),
)
"""The nearest deadline and the nearest scheduled start."""

FAMILY = (
    select(TASKS.c.id, TASKS.c.status, TASKS.c.text, TASKS.c.reason)
    .where(TASKS.c.parent_id == bindparam("parent"), TASKS.c.parent_call == bindparam("call"))
    .order_by(TASKS.c.created_at, TASKS.c.idempotency_key)
)
_WAITS = TASKS.c.status.in_(WAITING)
CANCEL = (
    update(TASKS)
    .where(TASKS.c.id.in_(_AMONG))
    .values(
        cancel=True,
        status=case((_WAITS, "QUEUED"), else_=TASKS.c.status),
        wake_at=case((_WAITS, None), else_=TASKS.c.wake_at),
    )
)
_FAMILY = (
    select(TASKS.c.id, literal(0).label("depth"))
    .where(_IS_IT)
    .cte("family", recursive=True)
)  # fmt: skip
_FAMILY = _FAMILY.union_all(
    select(TASKS.c.id, _FAMILY.c.depth + 1).where(
        TASKS.c.parent_id == _FAMILY.c.id, TASKS.c.parent_close.is_(None)
    )
)
DESCENDANTS = (
    select(_FAMILY.c.id, _FAMILY.c.depth)
    .where(_FAMILY.c.depth > 0)
    .order_by(_FAMILY.c.depth, _FAMILY.c.id)
)
FORGOTTEN = select(PRUNED.c.task_id)
TAKE_MESSAGE = delete(INBOX).where(INBOX.c.id == bindparam("letter"))
