"""Inside the walls: hand connections to a local port on to the proxy's socket, then be the command.

A program in front of the command. Arguments: the socket's path, the port, and the command.
"""

import os
import socket
import sys
import threading


def main() -> None:
    """Listen, leave a child behind to serve, and execute the command."""
    path, port, argv = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    listener = socket.create_server(("127.0.0.1", port))
    if os.fork() == 0:
        _serve(listener, path)
    listener.close()
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _serve(listener: socket.socket, path: str) -> None:
    """Serve until the command's namespace ends; its output must not be held open here."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_connect, args=(client, path), daemon=True).start()


def _connect(client: socket.socket, path: str) -> None:
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(path)
    except OSError:
        client.close()
        return
    threading.Thread(target=_pour, args=(client, server), daemon=True).start()
    _pour(server, client)


def _pour(source: socket.socket, sink: socket.socket) -> None:
    try:
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()


if __name__ == "__main__":
    main()
