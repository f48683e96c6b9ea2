"""Every Pub/Sub and Spanner tool against Google's own emulators, where the Google Cloud CLI has them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import spanner
from google.cloud.spanner_admin_database_v1.types import DatabaseDialect
from google.pubsub_v1 import PublisherClient, SubscriberClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport
from tests.sources._ports import free_port, wait_for_port
from tests.sources.cloud._calling import ask, told

from toolwright.sources import (
    PubSubToolConfig,
    PubSubToolset,
    QueryResultMode,
    SpannerToolset,
    SpannerToolSettings,
)

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("emulators")]
SPANNER = "bin/cloud_spanner_emulator/emulator_main"
PUBSUB = "platform/pubsub-emulator/bin/cloud-pubsub-emulator"


def _part_of_the_cli(path: str) -> str:
    """A program of the Google Cloud CLI; where there is none, the test is skipped and says so."""
    gcloud = shutil.which("gcloud")
    found = Path(gcloud).resolve().parents[1] / path if gcloud else None
    if found is None or not found.exists():
        pytest.skip(f"the Google Cloud CLI with {path} is not installed")
    return str(found)


@contextmanager
def _running(program: str, port: int, *words: str) -> Iterator[str]:
    # Only what it needs, so that it sees nothing of this machine's account.
    seen = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    with subprocess.Popen(
        [program, *words], env=seen, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as emulator:
        try:
            wait_for_port(port)
            yield f"127.0.0.1:{port}"
        finally:
            emulator.terminate()


# -- Spanner --------------------------------------------------------------------------------

TABLES = {
    "GOOGLE_STANDARD_SQL": (
        "CREATE TABLE pets (id INT64 NOT NULL, name STRING(MAX) DEFAULT ('no name'), "
        "vector ARRAY<FLOAT64>) PRIMARY KEY (id)",
        "CREATE UNIQUE INDEX pets_by_name ON pets (name DESC)",
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.pets (code INT64) PRIMARY KEY (code)",
        "CREATE TABLE lengths (id INT64, vector ARRAY<FLOAT64>) PRIMARY KEY (id)",
        "CREATE MODEL embed INPUT (content STRING(MAX)) "
        "OUTPUT (embeddings STRUCT<values ARRAY<FLOAT64>>) REMOTE OPTIONS (endpoint = "
        "'//aiplatform.googleapis.com/projects/p/locations/l/publishers/google/models/m')",
    ),
    "POSTGRESQL": (
        "CREATE TABLE pets (id bigint NOT NULL PRIMARY KEY, name text DEFAULT 'no name', "
        "vector float8[])",
        "CREATE UNIQUE INDEX pets_by_name ON pets (name DESC)",
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.pets (code bigint PRIMARY KEY)",
        "CREATE TABLE lengths (id bigint PRIMARY KEY, vector float8[])",
    ),
}
PETS = [(1, "cat", [1.0, 0.0]), (2, "dog", [0.0, 1.0]), (3, "lynx", [0.9, 0.1])]


@pytest.fixture(scope="module")
def spanner_emulator() -> Iterator[str]:
    program, port = _part_of_the_cli(SPANNER), free_port()
    with _running(program, port, f"--host_port=127.0.0.1:{port}") as address:
        yield address


@pytest.fixture(scope="module", params=list(TABLES))
def database(request: pytest.FixtureRequest, spanner_emulator: str) -> Iterator[dict[str, str]]:
    """A database of either dialect with a few tables; what the tools are told of it."""
    dialect = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANNER_EMULATOR_HOST", spanner_emulator)
        client = spanner.Client(
            project="shop", credentials=AnonymousCredentials(), disable_builtin_metrics=True
        )
        instance = client.instance(
            dialect.lower().replace("_", "-"),
            configuration_name="projects/shop/instanceConfigs/emulator-config",
        )
        instance.create().result(30)
        made = instance.database("pets", database_dialect=DatabaseDialect[dialect])
        made.create().result(30)
        made.update_ddl(list(TABLES[dialect])).result(30)
        with made.batch() as batch:
            batch.insert("pets", ("id", "name", "vector"), PETS)
            batch.insert("lengths", ("id", "vector"), [(1, [1.0])])
        yield {
            "project_id": "shop",
            "instance_id": instance.instance_id,
            "database_id": "pets",
            "dialect": dialect,
        }
        made.spanner_api.transport.close()
        client.close()


@pytest.fixture
async def spanner_tools(database: dict[str, str]) -> Any:
    settings = SpannerToolSettings(
        max_executed_query_result_rows=2,
        query_result_mode=QueryResultMode.DICT_LIST,
        embed_text=lambda text: [1.0, 0.0] if text == "cat" else [0.0, 1.0],
    )
    toolset = SpannerToolset(spanner_tool_settings=settings)
    yield toolset
    await toolset.close()


def _where(database: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in database.items() if name != "dialect"}


async def test_tables_schemas_and_indexes_are_those_of_the_database(
    spanner_tools: SpannerToolset, database: dict[str, str]
) -> None:
    where = _where(database)
    assert await told(spanner_tools, "spanner_list_table_names", **where) == ["lengths", "pets"]
    in_shop = await told(spanner_tools, "spanner_list_table_names", **where, named_schema="shop")
    assert in_shop == ["pets"]
    assert await told(spanner_tools, "spanner_list_named_schemas", **where) == ["shop"]
    schema = await told(spanner_tools, "spanner_get_table_schema", **where, table_name="pets")
    assert [column["column_name"] for column in schema["columns"]] == ["id", "name", "vector"]
    assert [column["is_nullable"] for column in schema["columns"]] == ["NO", "YES", "YES"]
    assert "no name" in schema["columns"][1]["column_default"]
    assert schema["primary_key"] == ["id"]
    other = await told(
        spanner_tools, "spanner_get_table_schema", **where, table_name="pets", named_schema="shop"
    )
    assert (
        other["primary_key"] == [column["column_name"] for column in other["columns"]] == ["code"]
    )
    indexes = await told(spanner_tools, "spanner_list_table_indexes", **where, table_name="pets")
    assert {index["index_name"] for index in indexes} == {"PRIMARY_KEY", "pets_by_name"}
    columns = await told(
        spanner_tools, "spanner_list_table_index_columns", **where, table_name="pets"
    )
    ordered = {one["index_name"]: (one["column_name"], one["column_ordering"]) for one in columns}
    assert ordered["pets_by_name"][0] == "name"
    assert ordered["pets_by_name"][1].startswith("DESC")
    missing = await ask(spanner_tools, "spanner_get_table_schema", **where, table_name="x'; --")
    assert (missing.status, "no table" in missing.text) == ("error", True)


async def test_queries_read_and_the_service_refuses_to_write(
    spanner_tools: SpannerToolset, database: dict[str, str]
) -> None:
    where = _where(database)
    query = "SELECT id, name FROM pets ORDER BY id"
    assert await told(spanner_tools, "spanner_execute_sql", **where, query=query) == {
        "columns": ["id", "name"],
        "rows": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "truncated": True,
    }
    for wrong in ("DELETE FROM pets WHERE id = 1", "DROP TABLE pets", "SELECT * FROM nowhere"):
        refused = await ask(spanner_tools, "spanner_execute_sql", **where, query=wrong)
        assert (refused.status, refused.text.split(":")[0].isupper()) == ("error", True)
    left = await told(
        spanner_tools, "spanner_execute_sql", **where, query="SELECT COUNT(*) AS n FROM pets"
    )
    assert left["rows"] == [{"n": 3}]


@pytest.mark.parametrize("distance", ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"])
async def test_rows_are_found_by_meaning(
    spanner_tools: SpannerToolset, database: dict[str, str], distance: str
) -> None:
    found = await told(
        spanner_tools, "spanner_similarity_search", **_where(database), table_name="pets",
        query="cat", embedding_column="vector", columns=["name"], top_k=2, distance_type=distance,
    )  # fmt: skip
    assert [row["name"] for row in found["rows"]] == ["cat", "lynx"]


async def test_a_model_of_the_database_makes_the_vector(database: dict[str, str]) -> None:
    """The emulator's models make up a vector of one number, and in PostgreSQL none at all."""
    is_postgres = database["dialect"] == "POSTGRESQL"
    toolset = SpannerToolset()
    result = await ask(
        toolset, "spanner_similarity_search", **_where(database), table_name="lengths",
        query="it's \"a\" cat", embedding_column="vector", columns=["id"],
        embedding_model="projects/p/locations/l/publishers/google/models/m"
        if is_postgres
        else "embed", distance_type="EUCLIDEAN",
    )  # fmt: skip
    await toolset.close()
    wanted = ("error", "made no vector") if is_postgres else ("ok", '"rows":[[1,')
    assert (result.status, wanted[1] in result.text) == (wanted[0], True), result.text


# -- Pub/Sub --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pubsub_emulator() -> Iterator[str]:
    program, port = _part_of_the_cli(PUBSUB), free_port()
    with _running(program, port, "--host=127.0.0.1", f"--port={port}") as address:
        yield address


@pytest.fixture
async def pubsub_tools(pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    toolset = PubSubToolset(pubsub_tool_config=PubSubToolConfig(project_id="shop"))
    yield toolset
    await toolset.close()


@pytest.fixture
def orders(pubsub_tools: PubSubToolset, pubsub_emulator: str) -> Iterator[str]:
    """The name of a topic and of its subscription."""
    topic, subscription = "projects/shop/topics/orders", "projects/shop/subscriptions/orders"
    channel = grpc.insecure_channel(pubsub_emulator)
    publisher = PublisherClient(transport=PublisherGrpcTransport(channel=channel))
    subscriber = SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))
    publisher.create_topic(name=topic)
    subscriber.create_subscription(
        request={"name": subscription, "topic": topic, "enable_message_ordering": True}
    )
    yield "orders"
    subscriber.delete_subscription(subscription=subscription)
    publisher.delete_topic(topic=topic)
    channel.close()


async def test_messages_are_published_pulled_and_acknowledged(
    pubsub_tools: PubSubToolset, orders: str
) -> None:
    for text in ("héllo", "again"):
        sent = await told(
            pubsub_tools, "publish_message", topic_name=orders, message=text,
            attributes={"k": "v"}, ordering_key="o1",
        )  # fmt: skip
        assert sent["message_id"]
    pulled = await told(pubsub_tools, "pull_messages", subscription_name=orders, max_messages=2)
    first = pulled["messages"][0]
    assert (first["data"], first["attributes"], first["ordering_key"]) == (
        "héllo", {"k": "v"}, "o1",
    )  # fmt: skip
    ids = [message["ack_id"] for message in pulled["messages"]]
    done = await told(pubsub_tools, "acknowledge_messages", subscription_name=orders, ack_ids=ids)
    assert done == {"acknowledged": len(ids)}


async def test_a_message_that_is_acknowledged_at_once_does_not_come_again(
    pubsub_tools: PubSubToolset, orders: str
) -> None:
    full = f"projects/shop/subscriptions/{orders}"
    await told(pubsub_tools, "publish_message", topic_name=orders, message="once")
    pulled = await told(
        pubsub_tools, "pull_messages", subscription_name=full, max_messages=1, auto_ack=True
    )
    assert [message["data"] for message in pulled["messages"]] == ["once"]
    await told(pubsub_tools, "publish_message", topic_name=orders, message="twice")
    pulled = await told(pubsub_tools, "pull_messages", subscription_name=full, max_messages=5)
    assert [message["data"] for message in pulled["messages"]] == ["twice"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("publish_message", {"topic_name": "nowhere", "message": "x"}),
        ("pull_messages", {"subscription_name": "nowhere"}),
        ("acknowledge_messages", {"subscription_name": "nowhere", "ack_ids": ["a"]}),
    ],
)
async def test_what_is_not_there_is_told(
    pubsub_tools: PubSubToolset, name: str, arguments: dict[str, Any]
) -> None:
    result = await ask(pubsub_tools, name, **arguments)
    assert (result.status, result.text.startswith("NOT_FOUND: ")) == ("error", True)
