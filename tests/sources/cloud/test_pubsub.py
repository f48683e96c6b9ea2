"""Pub/Sub tools, with the official client against a server of its published protocol."""

import itertools
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from dirty_equals import IsPartialDict
from google.protobuf import empty_pb2
from google.pubsub_v1 import types
from tests.sources.cloud._calling import ask, told
from tests.sources.cloud._grpc import Rpc, serving

from toolwright.sources import PubSubToolConfig, PubSubToolset

pytestmark = pytest.mark.anyio


class Broker:
    """One topic with one subscription, both named `orders`."""

    def __init__(self) -> None:
        self.waiting: dict[str, types.PubsubMessage] = {}
        self._ids = itertools.count(1)

    def publish(self, request: types.PublishRequest, context: grpc.ServicerContext) -> Any:
        if not request.topic.endswith("/topics/orders"):
            context.abort(
                grpc.StatusCode.NOT_FOUND, f"Resource not found (resource={request.topic})."
            )
        ids = []
        for message in request.messages:
            message.message_id = str(next(self._ids))
            ids.append(message.message_id)
            self.waiting[f"ack-{message.message_id}"] = message
        return types.PublishResponse(message_ids=ids)

    def pull(self, request: types.PullRequest, context: grpc.ServicerContext) -> Any:
        entries = itertools.islice(self.waiting.items(), request.max_messages)
        received = [types.ReceivedMessage(ack_id=ack, message=message) for ack, message in entries]
        return types.PullResponse(received_messages=received)

    def acknowledge(self, request: types.AcknowledgeRequest, context: grpc.ServicerContext) -> Any:
        for ack in request.ack_ids:
            self.waiting.pop(ack, None)
        return empty_pb2.Empty()


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    broker = Broker()
    services = {
        "google.pubsub.v1.Publisher": {
            "Publish": Rpc(types.PublishRequest, types.PublishResponse, broker.publish)
        },
        "google.pubsub.v1.Subscriber": {
            "Pull": Rpc(types.PullRequest, types.PullResponse, broker.pull),
            "Acknowledge": Rpc(types.AcknowledgeRequest, empty_pb2.Empty, broker.acknowledge),
        },
    }
    with serving(services) as address:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", address)
        yield broker


@pytest.fixture
async def toolset(broker: Broker) -> Any:
    toolset = PubSubToolset(pubsub_tool_config=PubSubToolConfig(project_id="shop"))
    yield toolset
    await toolset.close()


async def test_messages_are_published_pulled_and_acknowledged(
    toolset: PubSubToolset, broker: Broker
) -> None:
    sent = await told(
        toolset, "publish_message", topic_name="orders", message="héllo", attributes={"k": "v"},
        ordering_key="o1",
    )  # fmt: skip
    assert sent == {"message_id": "1"}
    (message,) = (await told(toolset, "pull_messages", subscription_name="orders"))["messages"]
    assert message == IsPartialDict(
        {"data": "héllo", "attributes": {"k": "v"}, "ordering_key": "o1", "ack_id": "ack-1"}
    )
    done = await told(
        toolset, "acknowledge_messages", subscription_name="orders", ack_ids=["ack-1"]
    )
    assert (done, broker.waiting) == ({"acknowledged": 1}, {})


async def test_pulling_takes_no_more_than_asked_and_can_acknowledge_at_once(
    toolset: PubSubToolset, broker: Broker
) -> None:
    for text in ("a", "b", "c"):
        await told(toolset, "publish_message", topic_name="orders", message=text)
    pulled = await told(
        toolset, "pull_messages", subscription_name="orders", max_messages=2, auto_ack=True
    )
    assert [m["data"] for m in pulled["messages"]] == ["a", "b"]
    assert [m.data for m in broker.waiting.values()] == [b"c"]


async def test_bytes_that_are_no_text_come_in_base64(
    toolset: PubSubToolset, broker: Broker
) -> None:
    broker.waiting["ack-9"] = types.PubsubMessage(data=b"\xff\x00", message_id="9")
    (message,) = (await told(toolset, "pull_messages", subscription_name="orders"))["messages"]
    assert message["data_base64"] == "/wA="


async def test_refusals_are_told_with_their_status(toolset: PubSubToolset) -> None:
    result = await ask(toolset, "publish_message", topic_name="nowhere", message="x")
    assert result.status == "error"
    assert result.text.startswith("NOT_FOUND: Resource not found")


async def test_a_name_without_a_project_needs_one(broker: Broker) -> None:
    result = await ask(PubSubToolset(), "publish_message", topic_name="orders", message="x")
    assert result.text == "Give the full name, projects/PROJECT/topics/orders."


async def test_tools_can_be_chosen() -> None:
    toolset = PubSubToolset(tool_filter=["publish_message"], tool_name_prefix="shop")
    assert [tool.name for tool in await toolset.list_tools()] == ["shop_publish_message"]
