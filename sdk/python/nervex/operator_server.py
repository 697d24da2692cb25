"""DI-engine's OperatorServer on top of ReplicasClient: the same constructor, calls and results. A framework changes only
an import:

    from nervex.operator_server import OperatorServer

It adds the pod's token, if nervex-server asks for one, and idempotency keys.
"""

from __future__ import annotations

import json
import urllib.parse
import uuid
from typing import Any, Dict, List, Mapping, Optional, Tuple

from nervex.errors import ReplicasError
from nervex.replicas import ReplicasClient, read_token

Result = Tuple[bool, int, Optional[str], Any]  # success, code, message, data

WORKER_TYPES = ("coordinator", "aggregator")


class RequestFailed(ReplicasError, OSError):
    """No answer, or one other than 200. An OSError, like the exceptions of `requests`."""


class OperatorServer:
    """nervex-server as DI-engine's coordinator calls it. An answer with `success: false` is returned, and the caller
    retries; any other failure raises RequestFailed."""

    def __init__(self, host: str, port: Optional[int] = None, api_version: str = "v1alpha1", https: bool = False,
                 namespace: str = "", name: str = "") -> None:
        address = host if port is None else f"{host}:{port}"
        self._client = ReplicasClient(f"{'https' if https else 'http'}://{address}", namespace, name, token=read_token)
        self._api_version, self._namespace, self._name = api_version, namespace, name
        self._worker_type = ""
        self._keys: Dict[str, str] = {}  # idempotency keys of calls that have not succeeded

    @property
    def api_version(self) -> str:
        return self._api_version

    def set_worker_type(self, type: str) -> None:  # the name of DI-engine's argument
        if type not in WORKER_TYPES:
            raise ValueError(f"invalid worker type: {type}")
        self._worker_type = type

    def get_replicas(self, name: Optional[str] = None) -> Result:
        """Those of this coordinator or aggregator, or the one with this name."""
        if name is None and not self._worker_type:
            raise ValueError("set worker type first")
        who = {"name": name} if name is not None else {self._worker_type: self._name}
        return self._call("GET", "/replicas?" + urllib.parse.urlencode({"namespace": self._namespace, **who}))

    def post_replicas(self, data: Mapping[str, Any]) -> Result:
        return self._call("POST", "/replicas", data)

    def post_replicas_failed(self, collectors: Optional[List[str]] = None, learners: Optional[List[str]] = None) -> Result:
        return self._call("POST", "/replicas/failed", {"collectors": collectors or [], "learners": learners or []})

    def delete_replicas(self, n_collectors: int = 0, n_learners: int = 0) -> Result:
        return self._call("DELETE", "/replicas", {"collectors": {"replicas": n_collectors},
                                                  "learners": {"replicas": n_learners}})

    def _call(self, method: str, path: str, data: Optional[Mapping[str, Any]] = None) -> Result:
        body = None if data is None else {**data, "namespace": self._namespace, "coordinator": self._name}
        call = json.dumps([method, path, body], sort_keys=True)
        key = self._keys.setdefault(call, uuid.uuid4().hex)
        try:
            answer = self._client.call_once(method, f"/{self._api_version}{path}", body, key)
        except ReplicasError as error:
            raise RequestFailed(str(error)) from error
        if answer.get("success"):  # an equal call after this one is a new call
            self._keys.pop(call, None)
        return bool(answer.get("success")), int(answer.get("code", 0)), answer.get("message"), answer.get("data")
