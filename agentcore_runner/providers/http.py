"""The one HTTP client: connections, proxies, certificates, time-outs; what fails becomes `RequestFailed`."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentcore_runner.providers.failures import RequestFailed, failed
from agentcore_runner.providers.proxy import Proxy, proxy_of
from agentcore_runner.providers.vendors import is_loopback
from agentcore_runner.providers.watch import Silent, Watch

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT = 10.0
KEEP_ALIVE = 60.0
"""Seconds that an unused connection is kept: tools may take a while between two requests."""


class HttpClient:
    """One client for one base URL, made on first use. `refused_hint` is asked, in a thread, for one more
    sentence when nothing listens at a loopback address."""

    def __init__(
        self, base_url: str, *, env: Mapping[str, str], refused_hint: Callable[[], str] | None = None
    ) -> None:
        self._base_url = base_url
        self._env = env
        self._refused_hint = refused_hint
        self._proxy = proxy_of(base_url, env)
        self._client: httpx.AsyncClient | None = None

    async def post(self, url: str, headers: dict[str, str], body: bytes, watch: Watch) -> Reply:
        """Send, and come back with the headers of the response, whatever its status."""
        if self._client is None:
            self._client = _new_client(self._base_url, self._env, self._proxy)
        route = _Route()
        request = self._client.build_request(
            "POST", url, headers=headers, content=body, extensions={"trace": route.note}
        )
        module = import_httpx()
        try:
            with watch:
                return Reply(await self._client.send(request, stream=True), watch)
        except Silent as exc:
            raise failed("timeout", f"no answer from {shown(url)} within the idle time-out") from exc
        except (module.RemoteProtocolError, module.ReadError, module.WriteError) as exc:
            raise await self._unreachable(exc, url) if route.is_new else _was_closed() from exc
        except module.HTTPError as exc:
            raise await self._unreachable(exc, url) from exc

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _unreachable(self, exc: Exception, url: str) -> RequestFailed:
        """No response came. A refused loopback address, an unknown name and a certificate that does not hold
        stay what they are, so they are not tried again."""
        there = shown(url) if self._proxy is None else f"{shown(url)} (through {self._proxy})"
        if isinstance(exc, import_httpx().ConnectTimeout):
            return failed("connection", f"no connection to {there} within {CONNECT_TIMEOUT:.0f} s")
        for cause in _causes(exc):
            if isinstance(cause, ConnectionRefusedError) and is_loopback(self._base_url):
                hint = await asyncio.to_thread(self._refused_hint) if self._refused_hint else ""
                message = f"{there} refused the connection: nothing listens there"
                return failed("connection", f"{message}. {hint}".strip(), again=False, retryable=True)
            if isinstance(cause, ssl.SSLCertVerificationError):
                advice = "SSL_CERT_FILE names the authorities to trust"
                message = f"the certificate of {there} does not hold: {cause.verify_message} ({advice})"
                return failed("connection", message, again=False)
            if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME:
                return failed("connection", f"the host of {there} is unknown", again=False, retryable=True)
        reason = str(exc) or type(exc).__name__
        return failed("connection", f"no connection to {there}: {reason}")


class Reply:
    """A response whose body is still to come. Close it; what was read to its end leaves the connection
    open for the next request."""

    def __init__(self, response: httpx.Response, watch: Watch) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._watch = watch
        encoded = response.headers.get("content-encoding", "identity") != "identity"
        chunks: AsyncIterator[bytes] = response.aiter_bytes() if encoded else _raw(response)
        self._next = chunks.__anext__

    async def read(self) -> bytes | None:
        """The next piece of the body, None at its end; `Silent` is for the caller to judge."""
        try:
            with self._watch:
                return await self._next()
        except StopAsyncIteration:
            return None
        except import_httpx().HTTPError as exc:
            reason = str(exc) or type(exc).__name__
            raise failed("stream", f"the connection broke in the middle of the answer: {reason}") from exc

    async def aclose(self) -> None:
        await self._response.aclose()


class _Route:
    """How a request travels: over a connection of its own, or over one that was kept."""

    def __init__(self) -> None:
        self.is_new = False

    async def note(self, event: str, info: dict[str, Any]) -> None:
        """A trace of httpcore's."""
        if event.startswith("connection.connect"):
            self.is_new = True


def _was_closed() -> RequestFailed:
    """A kept connection ended before it carried an answer (llama.cpp closes each one after a streamed answer,
    and does not say so beforehand). That says nothing against another one, at once."""
    failure = failed("connection", "the server had closed the kept connection")
    failure.wait = 0.0
    return failure


def import_httpx() -> ModuleType:
    """The httpx module, without its command line. `import httpx` also imports `httpx._main`, which takes
    click, rich and pygments with it where those are installed (20 to 60 ms); that import is guarded, so
    that a module that cannot be found is skipped."""
    known = sys.modules.get("httpx")
    if known is not None:
        return known
    modules: dict[str, Any] = sys.modules
    modules["httpx._main"] = None
    try:
        import httpx
    finally:
        del modules["httpx._main"]
    return httpx


def _new_client(base_url: str, env: Mapping[str, str], proxy: Proxy | None) -> httpx.AsyncClient:
    tls = urlsplit(base_url).scheme == "https" or (proxy is not None and proxy.is_tls)
    try:
        context = _tls(env) if tls else _no_tls()
    except OSError as exc:
        message = f"the certificates of SSL_CERT_FILE or SSL_CERT_DIR cannot be read: {exc}"
        raise failed("connection", message, again=False) from exc
    module = import_httpx()
    try:
        client: httpx.AsyncClient = module.AsyncClient(
            verify=context,
            trust_env=False,
            proxy=_for_httpx(module, proxy, context) if proxy else None,
            timeout=module.Timeout(None, connect=CONNECT_TIMEOUT),
            limits=module.Limits(keepalive_expiry=KEEP_ALIVE),
            follow_redirects=False,
        )
    except (ImportError, ValueError, module.InvalidURL) as exc:
        message = f"the proxy in {proxy} cannot be used: {exc} (SOCKS proxies are not supported)"
        raise failed("connection", message, again=False) from exc
    return client


def _for_httpx(module: ModuleType, proxy: Proxy, context: ssl.SSLContext) -> httpx.Proxy:
    made: httpx.Proxy = module.Proxy(proxy.url, ssl_context=context if proxy.is_tls else None)
    return made


def _tls(env: Mapping[str, str]) -> ssl.SSLContext:
    """The authorities that SSL_CERT_FILE or SSL_CERT_DIR name, else those of certifi; made once, for every
    transport and proxy."""
    file, folder = env.get("SSL_CERT_FILE"), env.get("SSL_CERT_DIR")
    if not (file or folder):
        import certifi

        file = certifi.where()
    return ssl.create_default_context(cafile=file or None, capath=folder or None)


def _no_tls() -> ssl.SSLContext:
    """A context for a client that will not use TLS. It knows no authority, so that it would trust nobody;
    loading them takes over 100 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _raw(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body without httpx's re-chunking generators: one layer less for each event."""
    stream: Any = response.stream
    chunks: AsyncIterator[bytes] = stream.__aiter__()
    return chunks


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """The exception, what it came from, and the members of groups on the way."""
    queue: list[BaseException | None] = [exc]
    seen: set[int] = set()
    while queue:
        current = queue.pop()
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            yield current
            queue += [current.__cause__, current.__context__]
            queue += getattr(current, "exceptions", ())


def shown(url: str) -> str:
    """The address without a password that may stand in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
