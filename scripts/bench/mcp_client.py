"""A client of MCP servers that speak over stdin and stdout: just enough to call a tool."""

from __future__ import annotations

import json
import subprocess
from typing import IO, TYPE_CHECKING, Any, Self, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

PROTOCOL = "2025-06-18"


class McpClient:
    """One server, running; use it in a `with` statement."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start the server and shake hands with it."""
        self._child = subprocess.Popen(
            command, env=environ, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._last = 0
        client = {"name": "bench", "version": "1"}
        self.ask(
            "initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo=client
        )  # fmt: skip
        self._send({"method": "notifications/initialized"})

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the server."""
        self._child.kill()
        self._child.communicate()

    def call(self, tool: str, **arguments: object) -> str:
        """Return the text that a tool answers with."""
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        return "".join(part.get("text", "") for part in answer["content"])

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Return the result of a request.

        Raises:
            RuntimeError: the server says it is an error, or has ended.
        """
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        for line in cast("IO[str]", self._child.stdout):
            answer = json.loads(line)
            if answer.get("id") == self._last and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
        raise RuntimeError(f"{method}: the server has ended")

    def _send(self, message: dict[str, Any]) -> None:
        stdin = cast("IO[str]", self._child.stdin)
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        stdin.flush()
