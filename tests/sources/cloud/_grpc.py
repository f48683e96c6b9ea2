"""A gRPC server on loopback for services whose messages the client libraries publish."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc

Behaviour = Callable[[Any, grpc.ServicerContext], Any]


@dataclass(frozen=True)
class Rpc:
    """One method of a service: its messages, and what it answers."""

    request: Any
    response: Any
    answer: Behaviour
    streaming: bool = False


def _serialize(response: Any) -> Callable[[Any], bytes]:
    return response.serialize if hasattr(response, "serialize") else response.SerializeToString


def _handler(rpc: Rpc) -> grpc.RpcMethodHandler:
    make = (
        grpc.unary_stream_rpc_method_handler
        if rpc.streaming
        else grpc.unary_unary_rpc_method_handler
    )
    read = getattr(rpc.request, "deserialize", None) or rpc.request.FromString
    return make(rpc.answer, request_deserializer=read, response_serializer=_serialize(rpc.response))


@contextmanager
def serving(services: Mapping[str, Mapping[str, Rpc]]) -> Iterator[str]:
    """Serve `services` (methods by name, by full service name); gives the address."""
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    for name, methods in services.items():
        handlers = {method: _handler(rpc) for method, rpc in methods.items()}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
