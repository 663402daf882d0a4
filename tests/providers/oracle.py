"""What the official SDKs say: is a request one that their types allow, and what do they make of a stream.

Their request types are TypedDicts that say Iterable[...] for every list, which pydantic checks only when it
is iterated, so that a list of nonsense passes; and they let unknown keys through. Both are tightened here.
"""

from __future__ import annotations

import collections.abc
import functools
import os
import sys
import types
import typing
from typing import Any

import typing_extensions as te
from pydantic import ConfigDict, TypeAdapter, ValidationError

ITERABLES = (collections.abc.Iterable, collections.abc.Sequence)


class BadRequest(AssertionError):
    pass


def _total(tp: type, key: str) -> bool:
    """Whether the class that declares the key, among a TypedDict's bases, is a total one."""
    for base in getattr(tp, "__orig_bases__", ()):
        if te.is_typeddict(base) and key in base.__annotations__:
            return _total(base, key)
    return bool(getattr(tp, "__total__", True))


def _file_like(tp: Any) -> bool:
    return (te.get_origin(tp) or tp) in (typing.IO, typing.BinaryIO, os.PathLike, bytes)


class _Strict:
    """Rebuild a type with Iterable -> list and with closed TypedDicts (recursion safe)."""

    def __init__(self) -> None:
        self.done: dict[type, type] = {}

    def of(self, tp: Any) -> Any:
        if te.is_typeddict(tp):
            return self.typed_dict(tp)
        origin, args = te.get_origin(tp), te.get_args(tp)
        if origin is None:
            return tp
        if origin is te.Annotated or origin is typing.Annotated:
            return self.of(args[0])  # the SDKs' own annotations concern files, not JSON
        if origin in (te.Required, te.NotRequired, typing.Required, typing.NotRequired):
            return origin[self.of(args[0])]
        if origin in (typing.Union, types.UnionType):
            json_only = [a for a in args if not _file_like(a)]  # files are no part of a JSON body
            return typing.Union[tuple(self.of(a) for a in json_only)]  # noqa: UP007 - built, not written
        if origin in ITERABLES or origin is list or getattr(origin, "__name__", "") == "SequenceNotStr":
            return list[self.of(args[0])]
        if origin in (dict, collections.abc.Mapping):
            return dict[args[0], self.of(args[1])]
        return tp

    def typed_dict(self, tp: type) -> Any:
        if tp in self.done:
            return self.done[tp]
        new = te.TypedDict(tp.__name__, {})  # noqa: UP013 - the name is not known before
        self.done[tp] = new
        try:
            hints = te.get_type_hints(tp, vars(sys.modules[tp.__module__]), include_extras=True)
        except NameError:  # a forward reference pydantic could not see either
            hints = dict.fromkeys(tp.__annotations__, Any)
        fields, required = {}, set()
        for key, hint in hints.items():
            # __required_keys__ is not to be trusted: the SDKs postpone annotations.
            mark = te.get_origin(hint)
            left_out = mark in (te.NotRequired, typing.NotRequired)
            if mark in (te.Required, typing.Required) or (not left_out and _total(tp, key)):
                required.add(key)
            if mark in (te.Required, te.NotRequired, typing.Required, typing.NotRequired):
                hint = te.get_args(hint)[0]
            fields[key] = self.of(hint)
        new.__annotations__ = {
            k: (te.Required[v] if k in required else te.NotRequired[v]) for k, v in fields.items()
        }
        new.__required_keys__ = frozenset(required)
        new.__optional_keys__ = frozenset(fields) - required
        own = getattr(tp, "__pydantic_config__", {})  # a type the SDK itself leaves open stays open
        new.__pydantic_config__ = ConfigDict(extra=own.get("extra", "forbid"), strict=True)
        new.__module__ = __name__
        return new


@functools.cache
def adapter(kind: str, stream: bool) -> TypeAdapter[Any]:
    if kind == "openai-chat":
        from openai.types.chat import completion_create_params as p

        tp = p.CompletionCreateParamsStreaming if stream else p.CompletionCreateParamsNonStreaming
    elif kind == "openai-responses":
        from openai.types.responses import response_create_params as p

        tp = p.ResponseCreateParamsStreaming if stream else p.ResponseCreateParamsNonStreaming
    elif kind == "anthropic":
        from anthropic.types import message_create_params as p

        tp = p.MessageCreateParamsStreaming if stream else p.MessageCreateParamsNonStreaming
    else:
        raise ValueError(f"unknown kind {kind!r}")
    return TypeAdapter(_Strict().of(tp))


def _gemini(body: dict[str, Any]) -> list[str]:
    """The wire body of generateContent, part by part (the SDK has no type for the whole).

    google.genai.types are pydantic models with camelCase aliases and extra='forbid'.
    They also take snake_case names, which the service takes too.
    """
    from google.genai import types as g

    parts: dict[str, Any] = {
        "contents": list[g.Content],
        "systemInstruction": g.Content,
        "tools": list[g.Tool],
        "toolConfig": g.ToolConfig,
        "safetySettings": list[g.SafetySetting],
        "generationConfig": g.GenerationConfig,
        "cachedContent": str,
        "labels": dict[str, str],
    }
    wrong = [f"{k}: unknown key" for k in body if k not in parts]
    if not body.get("contents"):
        wrong.append("contents: required")
    for key, tp in parts.items():
        if key in body:
            try:
                TypeAdapter(tp).validate_python(body[key])
            except ValidationError as e:
                wrong += [f"{key}.{'.'.join(map(str, x['loc']))}: {x['msg']}" for x in e.errors()]
    return wrong


def check_request(kind: str, body: dict[str, Any]) -> None:
    if kind == "gemini":
        wrong = _gemini(body)
    else:
        try:
            adapter(kind, bool(body.get("stream"))).validate_python(body)
            return
        except ValidationError as e:
            # A union reports every branch. Of each place, keep the branch whose own tag
            # (role, type) fits, if there is one: the others only say that theirs does not.
            errors = [(tuple(map(str, x["loc"])), x) for x in e.errors()]
            misfit = {
                loc[:-1] for loc, x in errors if x["type"] == "literal_error" and loc[-1] in ("role", "type")
            }
            near = [(loc, x) for loc, x in errors if not any(loc[: len(m)] == m for m in misfit)] or errors
            wrong = [
                f"{'.'.join(p for p in loc if not p.startswith(('list[', 'function-')))}: {x['msg']}"
                for loc, x in near
            ]
    if wrong:
        raise BadRequest(f"{kind}: " + "; ".join(dict.fromkeys(wrong))[:2000])


def replay_stream(kind: str, sse: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Any:
    """Feed recorded bytes to the official SDK; return the message that it puts together."""
    import httpx2

    h = {"content-type": "text/event-stream", **(headers or {})}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, headers=h, content=sse))
    client = httpx2.Client(transport=transport)
    ask = [{"role": "user", "content": "x"}]
    if kind.startswith("openai"):
        import openai

        c = openai.OpenAI(api_key="x", base_url="http://sdk.invalid/v1", http_client=client, max_retries=0)
        if kind == "openai-chat":
            with c.chat.completions.stream(model="x", messages=ask) as s:
                for _ in s:
                    pass
                return s.get_final_completion()
        with c.responses.stream(model="x", input="x") as s:
            for _ in s:
                pass
            return s.get_final_response()
    if kind == "anthropic":
        import anthropic

        c = anthropic.Anthropic(api_key="x", base_url="http://sdk.invalid", http_client=client, max_retries=0)
        with c.messages.stream(model="x", max_tokens=9, messages=ask) as s:
            return s.get_final_message()
    if kind == "gemini":
        from google import genai

        c = genai.Client(api_key="x", http_options={"base_url": "http://sdk.invalid", "httpx_client": client})
        return list(c.models.generate_content_stream(model="x", contents="x"))
    raise ValueError(f"unknown kind {kind!r}")
