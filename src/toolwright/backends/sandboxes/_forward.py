"""Inside the walls: hand connections to a local port on to the proxy's socket, then be the command.

A program in front of the command. Arguments: the socket's path, the port, and the command.
"""

import os
import socket
import sys
import threading
import time


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
        try:
            client, _ = listener.accept()
        except OSError:  # Too many are open: those that end make room.
            time.sleep(0.05)
            continue
        threading.Thread(target=_connect, args=(client, path), daemon=True).start()


def _connect(client: socket.socket, path: str) -> None:
    with client, socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(path)
        except OSError:
            return
        upwards = threading.Thread(target=_pour, args=(client, server), daemon=True)
        upwards.start()
        _pour(server, client)
        upwards.join()


def _pour(source: socket.socket, sink: socket.socket) -> None:
    """Hand on until there is no more, or nobody to hand it to; the other direction goes on."""
    try:
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


if __name__ == "__main__":
    main()
