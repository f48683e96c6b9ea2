"""Google Cloud Pub/Sub as tools: publish, pull and acknowledge messages."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

from pydantic import Field

from toolwright._sealed import sealed
from toolwright.concurrency import close_all, in_io_thread
from toolwright.errors import ToolError
from toolwright.messages import Trust
from toolwright.sources.cloud._calls import Deadline, cloud_tool
from toolwright.sources.cloud._credentials import GoogleCredentialsConfig
from toolwright.tools import FunctionTool, ReadonlyContext, ToolFilter, Toolset

try:
    from google.cloud import pubsub_v1
    from google.pubsub_v1 import PublisherClient, types
except ImportError as error:
    raise ImportError("Pub/Sub tools need an extra: pip install 'toolwright[pubsub]'") from error

__all__ = ["PubSubToolConfig", "PubSubToolset"]

_Topic = Annotated[
    str, Field(description="The topic: its name, or projects/{project}/topics/{topic}.")
]
_Subscription = Annotated[
    str,
    Field(description="The subscription: its name, or projects/{project}/subscriptions/{name}."),
]


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class PubSubToolConfig:
    """Where topics and subscriptions are looked for, and how long a call may take."""

    project_id: str | None = None
    """The project of topics and subscriptions that are given by name only."""
    timeout: float = 30.0
    """Seconds for a call, further tries included."""


class PubSubToolset(Toolset):
    """`publish_message`, `pull_messages` and `acknowledge_messages`.

    `PUBSUB_EMULATOR_HOST` is respected, as by the client library itself.
    """

    trust: Trust | None = "untrusted"
    """Anybody who may publish to a topic has written what is pulled."""

    def __init__(
        self,
        *,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
        credentials_config: GoogleCredentialsConfig | None = None,
        pubsub_tool_config: PubSubToolConfig | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._credentials = credentials_config
        self._config = pubsub_tool_config or PubSubToolConfig()

    async def get_tools(
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[FunctionTool]:
        """The three tools."""
        return self._tools

    async def close(self) -> None:
        """Close the connections."""
        opened = vars(self)
        closes = [self._publisher.transport.close] if "_publisher" in opened else []
        closes += [self._subscriber.close] if "_subscriber" in opened else []
        await close_all([partial(in_io_thread, close) for close in closes])

    @cached_property
    def _tools(self) -> list[FunctionTool]:
        return [
            cloud_tool(call, name, "write", self._config.timeout)
            for name, call in (
                ("publish_message", self._publish),
                ("pull_messages", self._pull),
                ("acknowledge_messages", self._acknowledge),
            )
        ]

    @cached_property
    def _publisher(self) -> pubsub_v1.PublisherClient:
        return pubsub_v1.PublisherClient(**self._sign_in())

    @cached_property
    def _subscriber(self) -> pubsub_v1.SubscriberClient:
        return pubsub_v1.SubscriberClient(**self._sign_in())

    def _sign_in(self) -> dict[str, Any]:
        # Left to the library when nothing was configured: it knows its emulator and defaults.
        return {} if self._credentials is None else {"credentials": self._credentials.load()}

    def _publish(
        self,
        topic_name: _Topic,
        message: Annotated[str, Field(description="The text to publish.")],
        attributes: Annotated[
            dict[str, str] | None, Field(description="Attributes of the message.")
        ] = None,
        ordering_key: Annotated[
            str, Field(description="Messages with the same key arrive in order.")
        ] = "",
    ) -> dict[str, str]:
        """Publish a message to a Pub/Sub topic."""
        sent = types.PubsubMessage(
            data=message.encode(), attributes=attributes or {}, ordering_key=ordering_key
        )
        # The library's own `publish` gathers messages in a thread; here one is sent and awaited.
        response = PublisherClient.publish(
            self._publisher,
            topic=self._full_name("topics", topic_name),
            messages=[sent],
            retry=Deadline(self._config.timeout),
            timeout=None,
        )
        return {"message_id": response.message_ids[0]}

    def _pull(
        self,
        subscription_name: _Subscription,
        max_messages: Annotated[int, Field(ge=1, le=1000)] = 1,
        auto_ack: Annotated[
            bool, Field(description="Acknowledge at once, so that they do not come again.")
        ] = False,
    ) -> dict[str, Any]:
        """Pull messages from a Pub/Sub subscription."""
        name = self._full_name("subscriptions", subscription_name)
        deadline = Deadline(self._config.timeout)
        response = self._subscriber.pull(
            subscription=name, max_messages=max_messages, retry=deadline, timeout=None
        )
        received = [_told(entry) for entry in response.received_messages]
        if auto_ack and received:
            self._confirm(name, [entry["ack_id"] for entry in received], deadline)
        return {"messages": received}

    def _acknowledge(
        self, subscription_name: _Subscription, ack_ids: Annotated[list[str], Field(min_length=1)]
    ) -> dict[str, Any]:
        """Acknowledge messages that were pulled, by their ack_id, so that they do not come again."""
        name = self._full_name("subscriptions", subscription_name)
        self._confirm(name, ack_ids, Deadline(self._config.timeout))
        return {"acknowledged": len(ack_ids)}

    def _confirm(self, subscription: str, ack_ids: Sequence[str], deadline: Deadline) -> None:
        self._subscriber.acknowledge(
            subscription=subscription, ack_ids=list(ack_ids), retry=deadline, timeout=None
        )

    def _full_name(self, kind: str, name: str) -> str:
        if name.startswith("projects/"):
            return name
        if self._config.project_id is None:
            raise ToolError(f"Give the full name, projects/PROJECT/{kind}/{name}.")
        return f"projects/{self._config.project_id}/{kind}/{name}"


def _told(entry: Any) -> dict[str, Any]:
    message = entry.message
    return {
        "message_id": message.message_id,
        **_payload(message.data),
        "attributes": dict(message.attributes),
        "ordering_key": message.ordering_key,
        "publish_time": message.publish_time.isoformat() if message.publish_time else None,
        "ack_id": entry.ack_id,
    }


def _payload(data: bytes) -> dict[str, str]:
    try:
        return {"data": data.decode()}
    except UnicodeDecodeError:
        return {"data_base64": base64.b64encode(data).decode()}
