"""Reads the user's models file: providers, models and prices, in the shape of the catalogue that ships."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.providers.apis import APIS, CHAT_API, compat_mistakes
from agentcore_runner.providers.keys import sendable
from agentcore_runner.providers.known import KnownModel, KnownProvider, ModelsFile, Prices, Tier
from agentcore_runner.providers.mistakes import Mistake, Mistaken, refuse
from agentcore_runner.providers.script_yaml import Lines, mistaken, read_yaml
from agentcore_runner.providers.services import VENDORS
from agentcore_runner.providers.vendors import checked_address
from agentcore_runner.words import did_you_mean

KEYS = tuple(
    dict.fromkeys(
        name for kind in (KnownProvider, KnownModel, Prices, Tier) for name in kind.__struct_fields__
    )
)
UNKNOWN = re.compile(r"Object contains unknown field (.*)")
STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def read_models(path: Path) -> ModelsFile:
    """The file's providers; it is YAML, or JSON, which is YAML as well. Raises `Mistaken` with every mistake
    at its file and line."""
    data, lines = read_yaml(path, str(path))
    providers = data.get("providers") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(providers, dict) or len(data) > 1:
        raise mistaken("a models file is a map with the one key 'providers', which is a map", str(path), 1)
    reader = _Reader(str(path), lines)
    found = {name: reader.provider(name, value) for name, value in providers.items()}
    refuse(sorted(reader.mistakes, key=lambda mistake: mistake.line or 0))
    return ModelsFile(providers={name: value for name, value in found.items() if value is not None})


class _Reader:
    """Reads part by part, so that each mistake has its place and none hides another."""

    def __init__(self, shown: str, lines: Lines) -> None:
        self.mistakes: list[Mistake] = []
        self._shown = shown
        self._lines = lines

    def provider(self, name: str, value: Any) -> KnownProvider | None:
        """A provider with its models."""
        place = ("providers", name)
        value = {} if value is None else value
        models = value.get("models") if isinstance(value, dict) else None
        if models is not None and not isinstance(models, dict):
            self._add((*place, "models"), "expected a map of models by their ids")
            models = None
        alone = (
            {key: item for key, item in value.items() if key != "models"}
            if isinstance(value, dict)
            else value
        )
        known = self._converted(alone, KnownProvider, place)
        read = {model: self._model(name, model, entry, known) for model, entry in (models or {}).items()}
        if not isinstance(known, KnownProvider):
            return None
        self._take(place, _provider_mistakes(name, known))
        return msgspec.structs.replace(known, models={key: item for key, item in read.items() if item})

    def _model(self, provider: str, name: str, value: Any, whole: Any) -> KnownModel | None:
        place = ("providers", provider, "models", name)
        found = self._converted({} if value is None else value, KnownModel, place)
        if not isinstance(found, KnownModel):
            return None
        self._take(place, _model_mistakes(found, found.api or _usual_api(provider, whole)))
        return found

    def _converted(self, value: Any, kind: type[msgspec.Struct], place: tuple[str, ...]) -> Any:
        """The value as this type; None, with the mistake noted, where it is none."""
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as exc:
            message, _, inner = str(exc).partition(" - at `")
            steps = [key or index for key, index in STEP.findall(inner.rstrip("`"))]
            message = message.replace(" | null", "").replace("`", "")
            unknown = UNKNOWN.match(message)
            if unknown:
                steps.append(unknown[1])
                message = f"no such key here{did_you_mean(unknown[1], KEYS)}"
            self._add((*place, *steps), f"{message[0].lower()}{message[1:]}")
            return None

    def _take(self, place: tuple[str, ...], found: Iterable[Mistake]) -> None:
        for mistake in found:
            self._add((*place, *mistake.key), mistake.message)

    def _add(self, place: tuple[str, ...], message: str) -> None:
        """Note a mistake at the nearest place that has a line."""
        written = [int(step) if step.isdecimal() else step for step in place]
        line = next(
            (self._lines[tuple(written[:end])] for end in range(len(written), 0, -1)
             if tuple(written[:end]) in self._lines),
            None,
        )  # fmt: skip
        self.mistakes.append(Mistake(message=f"{'.'.join(place)}: {message}", file=self._shown, line=line))


def _provider_mistakes(name: str, found: KnownProvider) -> Iterator[Mistake]:
    """What is wrong with a provider as a whole."""
    ours = VENDORS.get(name)
    if "/" in name or not name:
        yield Mistake(message="a provider's name has no '/', which ends it in provider/id")
    if found.base_url is not None:
        try:
            checked_address(found.base_url, "base_url")
        except Mistaken as exc:
            yield from exc.mistakes
    elif ours is None:
        yield Mistake(message="a provider that is none of ours needs its base_url")
    yield from _api_mistakes(found.api)
    for header, text in found.headers.items():
        if not (sendable(header) and " " not in header and sendable(text)):
            yield Mistake(message="holds characters that cannot be sent", key=("headers", header))
    yield from compat_mistakes(_usual_api(name, found), found.compat)


def _model_mistakes(found: KnownModel, api: str) -> Iterator[Mistake]:
    """What is wrong with a model: its API, its compat, tiers that do not rise."""
    yield from _api_mistakes(found.api)
    if api in APIS:
        yield from compat_mistakes(api, found.compat)
    tiers = [tier.input_tokens_above for tier in found.cost.tiers] if found.cost else []
    if any(low >= high for low, high in pairwise(tiers)):
        yield Mistake(message="input_tokens_above must rise from tier to tier", key=("cost", "tiers"))


def _api_mistakes(api: str | None) -> Iterator[Mistake]:
    if api is not None and api not in APIS:
        message = f"{api!r} is no API{did_you_mean(api, APIS)}; known are {', '.join(APIS)}"
        yield Mistake(message=message, key=("api",))


def _usual_api(provider: str, found: Any) -> str:
    """What a provider speaks where its models say nothing else; at another address than its own, what it
    speaks there."""
    alone = isinstance(found, KnownProvider)
    if alone and found.api in APIS:
        return str(found.api)
    vendor = VENDORS.get(provider)
    if vendor is None:
        return CHAT_API
    return vendor.api if vendor.own_api is None or (alone and found.base_url) else vendor.own_api
