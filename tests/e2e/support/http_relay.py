"""HTTP/1.1 between a client and the API server: where does a message end, and what does a request ask for? Bytes are
relayed unchanged. Used by fault_proxy.py."""

import dataclasses
import urllib.parse

LARGEST_HEAD = 1 << 16
WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclasses.dataclass(frozen=True)
class Request:
    """One request to the API server. A missing namespace or name is ""."""
    method: str
    target: str           # path and query as they were sent
    raw: bytes            # head and body
    body: bytes
    resource: str = ""    # "pods"; "" for a path that is no resource, as /readyz or /openapi/v3
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    is_watch: bool = False

    @property
    def is_write(self):
        return self.method in WRITES

    @property
    def kind(self):
        """"POST pods/binding": identifies the kind of write."""
        return f"{self.method} {self.resource or self.target}" + (f"/{self.subresource}" if self.subresource else "")

    def with_token(self, token):
        """The bytes to send, with this bearer token if the request has no credentials of its own."""
        head, _, _ = self.raw.partition(b"\r\n\r\n")
        if not token or b"\r\nauthorization:" in head.lower():
            return self.raw
        first, line_end, rest = self.raw.partition(b"\r\n")
        return first + line_end + f"Authorization: Bearer {token}\r\n".encode() + rest

    def __str__(self):
        return f"{self.method} {self.target}"


def resource_of(path):
    """(resource, subresource, namespace, name) of a path of the Kubernetes API."""
    words = [word for word in path.split("/") if word]
    if words[:1] == ["api"]:
        words = words[2:]   # api, version
    elif words[:1] == ["apis"]:
        words = words[3:]   # apis, group, version
    else:
        return "", "", "", ""
    namespace = ""
    if words[:1] == ["namespaces"] and len(words) > 2:
        namespace, words = words[1], words[2:]
    resource, name, subresource = (words + ["", "", ""])[:3]
    return resource, subresource, namespace, name


def head_of(raw):
    """(first line's words, {lower-case name: value})"""
    first, *lines = raw.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return first.split(" ", 2), headers


async def read_request(reader):
    """The next request; None if the client has closed its connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except EOFError:
        return None
    (method, target, _), headers = head_of(head)
    body = b""
    if is_chunked(headers):
        body = b"".join([chunk async for chunk in chunks(reader)])
    elif headers.get("content-length"):
        body = await reader.readexactly(int(headers["content-length"]))
    path, _, query = target.partition("?")
    watch = urllib.parse.parse_qs(query).get("watch", [""])[0] in ("1", "true")
    return Request(method, target, head + body, body, *resource_of(path), is_watch=watch)


def is_chunked(headers):
    return "chunked" in headers.get("transfer-encoding", "").lower()


async def chunks(reader):
    """The body's chunks with their framing, as they arrive, including the last one."""
    while True:
        size = await reader.readuntil(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length == 0:
            rest = size
            while not rest.endswith(b"\r\n\r\n"):  # trailers, then an empty line
                rest += await reader.readuntil(b"\r\n")
            yield rest
            return
        yield size + await reader.readexactly(length + 2)


async def parts_of_response(reader, method):
    """(head, status, closes, parts): `parts` yields the body's bytes as they arrive; `closes`: the connection ends
    with it."""
    head = await reader.readuntil(b"\r\n\r\n")
    words, headers = head_of(head)
    status = int(words[1])
    closes = headers.get("connection", "").lower() == "close"

    async def parts():
        nonlocal closes
        if method == "HEAD" or status in (204, 304):
            return
        if is_chunked(headers):
            async for chunk in chunks(reader):
                yield chunk
        else:
            left = int(headers.get("content-length", 0))
            while left > 0:
                data = await reader.read(min(left, 1 << 16))
                if not data:
                    raise EOFError("the API server closed its connection within a body")
                left -= len(data)
                yield data

    return head, status, closes, parts()
