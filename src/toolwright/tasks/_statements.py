"""The queue's statements that run often, built once."""

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    case,
    delete,
    func,
    literal,
    literal_column,
    select,
    update,
)

from toolwright.tasks._schema import (
    INBOX,
    IS_ACTIVE,
    IS_PROMPT,
    IS_QUEUED,
    IS_SUSPECT,
    PROMPTS,
    PRUNED,
    TASKS,
)
from toolwright.tasks._task import SUSPECT, WAITING

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
    "RAN_UNDER",
    "REQUEUE",
    "SETTLE",
    "STEERED",
    "TAKE_MESSAGE",
    "TRY_AGAIN",
    "WAKE",
    "WAKE_DUE",
    "line",
    "line_of_owners",
]

_IS_IT = TASKS.c.id == bindparam("task")

_SAME_LINE = (
    IS_QUEUED,
    TASKS.c.agent == bindparam("agent"),
    TASKS.c.priority == bindparam("priority"),
)
PLACES = select(
    select(func.min(TASKS.c.place)).where(*_SAME_LINE, IS_PROMPT).scalar_subquery(),
    select(func.max(TASKS.c.place))
    .where(*_SAME_LINE, TASKS.c.owner_id == bindparam("owner"))
    .scalar_subquery(),
)
"""The head of a line, and an owner's last place in it."""

_IN_ORDER = (TASKS.c.priority.desc(), TASKS.c.place, TASKS.c.created_at)


def _ready(suspect: bool) -> tuple[ColumnElement[bool], ...]:
    return (
        IS_QUEUED,
        TASKS.c.agent == bindparam("agent"),
        TASKS.c.start_at <= bindparam("now"),
        TASKS.c.id.not_in(bindparam("but", expanding=True)),
        IS_SUSPECT if suspect else func.coalesce(TASKS.c.crashes, 0) < literal_column(str(SUSPECT)),
    )


@cache
def line(suspect: bool) -> Select[Any]:
    """The next tasks of an agent; suspects stand in a line of their own."""
    query = select(TASKS).where(*_ready(suspect))
    return query.order_by(*_IN_ORDER).limit(bindparam("most"))


@cache
def line_of_owners(suspect: bool) -> Select[Any]:
    """`line` with no more of an owner than the limit leaves room for."""
    busy = (
        select(TASKS.c.owner_id, func.count().label("count"))
        .where(IS_ACTIVE, TASKS.c.agent == bindparam("agent"))
        .group_by(TASKS.c.owner_id)
        .subquery()
    )
    nth = func.row_number().over(partition_by=TASKS.c.owner_id, order_by=_IN_ORDER)
    ranked = (
        select(TASKS.c.id, TASKS.c.owner_id, nth.label("nth")).where(*_ready(suspect)).subquery()
    )
    free = bindparam("per_owner") - func.coalesce(busy.c.count, 0)
    fitting = (
        select(ranked.c.id)
        .outerjoin(busy, busy.c.owner_id == ranked.c.owner_id)
        .where(ranked.c.nth <= free)
    )
    # Asked of the row itself as well, which is looked at once more when it has changed meanwhile.
    query = select(TASKS).where(TASKS.c.id.in_(fitting), *_ready(suspect))
    return query.order_by(*_IN_ORDER).limit(bindparam("most"))


CLAIM = (
    update(TASKS)
    .where(_IS_IT)
    .values(
        status="ACTIVE", worker=bindparam("by"), started_at=bindparam("now"),
        updated_at=bindparam("now"), attempts=TASKS.c.attempts + 1, wake_at=None,
        crashes=func.coalesce(TASKS.c.crashes, 0) + 1,
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
    TASKS.c.parent_call, TASKS.c.retries, TASKS.c.failures, TASKS.c.version,
).where(_IS_IT)  # fmt: skip
"""What decides how a task moves on."""
STEERED = select(INBOX.c.id).where(INBOX.c.task_id == bindparam("task")).limit(1)
"""Whether a message was left for a task that its journal does not have."""

RAN_UNDER = update(TASKS).where(_IS_IT).values(version=bindparam("code"))
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
