"""A proxy between one program and the API server that injects faults at a chosen moment: plain HTTP on loopback in, TLS
out, watches streamed through.

    proxy = FaultProxy(api.server, api.certificate_authority)
    # the program's kubeconfig names proxy.url as its server

    hold = proxy.hold(writes("POST pods"), nth=4)        # before it reaches the API server
    hold = proxy.hold(writes("POST pods"), after=True)   # answered, but the program has not heard of it
    hold.wait()                                          # the request is there and waits
    ...                                                  # kill the program
    hold.drop()                                          # it was never sent / the reply was never heard
    hold.release()                                       # goes on, late

    proxy.cut_watches(); proxy.freeze_watches(); proxy.thaw(); proxy.trickle(bytes, seconds)

Requests are kept in order in `proxy.requests`, so that a test can count them: the number of writes of a
job's life is what a run over all crash points enumerates.

Each proxy has an event loop on a thread of its own. Everything public may be called by any thread.
"""

import asyncio
import collections
import concurrent.futures
import contextlib
import ssl
import threading
import time
import urllib.parse

from support.http_relay import LARGEST_HEAD, parts_of_response, read_request

NOT_COUNTED = ("events", "leases")  # best effort, and time-driven: no crash points


def writes(kind, namespace=None):
    """Matches writes of one kind ("POST pods", "PUT nervexjobs/status") or of any ("*")."""
    def match(request):
        return (request.is_write and kind in ("*", request.kind) and request.resource not in NOT_COUNTED
                and namespace in (None, request.namespace))
    return match


class Hold:
    """Holds the nth matching request and each later one until it is released or dropped."""

    def __init__(self, match, nth, after, only_one):
        self.after, self._match, self._left, self._only_one = after, match, nth, only_one
        self._verdict = concurrent.futures.Future()
        self._reached = threading.Event()
        self.request = None  # the first one that was held

    def catches(self, request):
        """Called by the proxy's loop only."""
        if self._verdict.done() or not self._match(request):
            return False
        self._left -= 1
        return self._left == 0 if self._only_one else self._left <= 0

    async def verdict(self, request):
        self.request = self.request or request
        self._reached.set()
        return await asyncio.wrap_future(self._verdict)

    def wait(self, timeout=30.0):
        """Waits until a request is held; returns it."""
        if not self._reached.wait(timeout):
            raise TimeoutError(f"no such request came within {timeout:g} s")
        return self.request

    @property
    def reached(self):
        return self._reached.is_set()

    def release(self):
        self._settle(True)

    def drop(self):
        self._settle(False)

    def _settle(self, goes_on):
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            self._verdict.set_result(goes_on)


class Dropped(Exception):
    """Ends the connection, as part of a fault."""


class FaultProxy:
    """`token` is sent for a program without credentials: client-go does not send its own over plain HTTP."""

    def __init__(self, server, certificate_authority, token=None):
        address = urllib.parse.urlsplit(server)
        self._token = token
        self._upstream = address.hostname, address.port
        self._tls = ssl.create_default_context(cafile=certificate_authority)
        self._holds = []
        self._streams = {}  # the tasks that relay a watch, with their requests
        self._thawed = None
        self._frozen = lambda request: False
        self._pace = None   # (bytes, seconds) of trickling watches
        self.requests = []  # (time.monotonic(), Request) in the order of arrival
        self.expired = 0    # 410 Gone, as a status or as an event of a watch
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._thread.start()
        self._server = self._call(self._listen())
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    # -- faults

    def hold(self, match, nth=1, after=False, only_one=False):
        """Holds the nth matching request from now on and, unless `only_one`, all later matches."""
        hold = Hold(match, nth, after, only_one)
        self._holds.append(hold)  # atomic; the loop reads a copy
        return hold

    def cut_watches(self, match=lambda request: True):
        """Ends these watches' connections at once; returns how many there were."""
        return self._call(self._cut(match))

    def freeze_watches(self, match=lambda request: True):
        """Keeps the connections open but relays nothing: a half-open connection, or a slow API server."""
        self._call(self._set_frozen(match))

    def thaw(self):
        """Relays what was held back."""
        self._call(self._set_frozen(lambda request: False))

    def trickle(self, size, seconds):
        """Watches arrive in pieces of `size` bytes, `seconds` apart. trickle(0, 0) ends it."""
        self._pace = (size, seconds) if size else None

    def calm(self):
        """Ends all faults."""
        for hold in self._holds:
            hold.release()
        self._holds = []
        self._pace = None
        self.thaw()

    def close(self):
        self.calm()
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    # -- what was asked

    def mark(self):
        """A position in `requests` to count from."""
        return len(self.requests)

    def since(self, mark, match=lambda request: True):
        return [request for _, request in self.requests[mark:] if match(request)]

    def busiest_second(self, mark):
        """The maximum number of requests in one second since `mark`."""
        seconds = collections.Counter(int(at) for at, _ in self.requests[mark:])
        return max(seconds.values(), default=0)

    @property
    def watches(self):
        """Requests of the open watches."""
        return list(self._streams.values())

    # -- on the loop's thread

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _listen(self):
        self._thawed = asyncio.Event()
        self._thawed.set()
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LARGEST_HEAD * 64)

    async def _end(self):
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _cut(self, match):
        tasks = [task for task, request in self._streams.items() if match(request)]
        for task in tasks:
            task.cancel()
        return len(tasks)

    async def _set_frozen(self, match):
        self._frozen = match
        self._thawed.set()
        self._thawed = asyncio.Event()

    async def _serve(self, reader, writer):
        """Serves one connection of the program, with one to the API server that is opened on demand."""
        upstream = None
        try:
            while (request := await read_request(reader)) is not None:
                self.requests.append((time.monotonic(), request))
                await self._pass(request, after=False)
                if upstream is None or upstream[0].at_eof():
                    upstream = await asyncio.open_connection(*self._upstream, ssl=self._tls, limit=LARGEST_HEAD * 64)
                upstream[1].write(request.with_token(self._token))
                if not await self._answer(request, upstream[0], reader, writer):
                    return
        except (OSError, EOFError, Dropped, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # either side went away, or was made to
        finally:
            for side in [writer, *([upstream[1]] if upstream else [])]:
                side.transport.abort()

    async def _pass(self, request, after):
        for hold in list(self._holds):
            if hold.after == after and hold.catches(request) and not await hold.verdict(request):
                raise Dropped

    async def _answer(self, request, upstream, reader, writer):
        """Relays one response; False if the connection ends with it."""
        head, status, closes, parts = await parts_of_response(upstream, request.method)
        if request.is_watch and status == 200:
            await self._stream(request, head, parts, reader, writer)
            return not closes
        body = b"".join([part async for part in parts])
        self.expired += status == 410
        await self._pass(request, after=True)
        writer.write(head + body)
        await writer.drain()
        return not closes

    async def _stream(self, request, head, parts, reader, writer):
        """Relays until the API server ends the watch, the program disconnects, or a test cuts it."""
        async def relay():
            await self._trickle(writer, head)
            async for part in parts:
                self.expired += b'"type":"ERROR"' in part and b'"code":410' in part
                while self._frozen(request):
                    await self._thawed.wait()
                await self._trickle(writer, part)

        relaying = asyncio.ensure_future(relay())
        leaving = asyncio.ensure_future(reader.read(1))  # a program that watches sends nothing
        self._streams[relaying] = request
        try:
            done, _ = await asyncio.wait({relaying, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if leaving in done:
                raise Dropped
            await relaying
        finally:
            del self._streams[relaying]
            for task in (relaying, leaving):
                task.cancel()
            await asyncio.gather(relaying, leaving, return_exceptions=True)

    async def _trickle(self, writer, data):
        size, seconds = self._pace or (len(data), 0)
        for at in range(0, len(data), size):
            writer.write(data[at:at + size])
            await writer.drain()
            if seconds:
                await asyncio.sleep(seconds)
