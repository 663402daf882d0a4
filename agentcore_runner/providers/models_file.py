"""Reads the user's models file: providers, models and prices, in the shape of the catalogue that ships."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from agentcore_runner.providers.apis import APIS, CHAT_API, SCRIPTED_API, compat_mistakes
from agentcore_runner.providers.file_shape import Place, shape_mistakes
from agentcore_runner.providers.keys import header_mistake, key_mistake
from agentcore_runner.providers.known import KnownModel, KnownProvider, ModelsFile
from agentcore_runner.providers.mistakes import Mistake, Mistaken, refuse
from agentcore_runner.providers.script_yaml import Lines, mistaken, read_yaml
from agentcore_runner.providers.services import VENDORS
from agentcore_runner.providers.vendors import checked_address
from agentcore_runner.words import did_you_mean

K = TypeVar("K", KnownModel, KnownProvider)


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
    return ModelsFile(providers=found)


class _Reader:
    """Reads part by part, so that each mistake has its place and none hides another."""

    def __init__(self, shown: str, lines: Lines) -> None:
        self.mistakes: list[Mistake] = []
        self._shown = shown
        self._lines = lines

    def provider(self, name: str, value: Any) -> KnownProvider:
        """A provider with its models."""
        place = ("providers", name)
        value = {} if value is None else value
        models = value.get("models") if isinstance(value, dict) else None
        if models is not None and not isinstance(models, dict):
            self._add((*place, "models"), "expected a map of models by their ids")
            models = None
        if isinstance(value, dict):
            value = {key: item for key, item in value.items() if key != "models"}
        known = self._converted(value, KnownProvider, place)
        self._take(place, _provider_mistakes(name, known))
        if isinstance(value, dict) and "base_url" not in value and name not in VENDORS:
            self._add(place, "a provider that is none of ours needs its base_url")
        read = {model: self._model(name, model, entry, known) for model, entry in (models or {}).items()}
        return msgspec.structs.replace(known, models=read)

    def _model(self, provider: str, name: str, value: Any, whole: KnownProvider) -> KnownModel:
        place = ("providers", provider, "models", name)
        if not name.strip():
            self._add(place, "a model's id cannot be empty")
        found = self._converted({} if value is None else value, KnownModel, place)
        self._take(place, _model_mistakes(found, found.api or _usual_api(provider, whole)))
        return found

    def _converted(self, value: Any, kind: type[K], place: Place) -> K:
        """What of the value is of this type; each mistake in it is noted."""
        wrong = shape_mistakes(value, kind)
        for within, message in wrong:
            self._add(place + within, message)
        mistaken_keys = {at[0] for at, _ in wrong if at}
        sound = value if isinstance(value, dict) else {}
        return msgspec.convert({key: sound[key] for key in sound if key not in mistaken_keys}, kind)

    def _take(self, place: tuple[str, ...], found: Iterable[Mistake]) -> None:
        for mistake in found:
            self._add((*place, *mistake.key), mistake.message)

    def _add(self, place: Place, message: str) -> None:
        """Note a mistake at the nearest place that has a line."""
        known = (self._lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in self._lines)
        shown = ".".join(map(str, place))
        self.mistakes.append(Mistake(message=f"{shown}: {message}", file=self._shown, line=next(known, None)))


def _provider_mistakes(name: str, found: KnownProvider) -> Iterator[Mistake]:
    """What is wrong with a provider as a whole."""
    if "/" in name or not name:
        yield Mistake(message="a provider's name has no '/', which ends it in provider/id")
    if found.base_url is not None:
        try:
            checked_address(found.base_url, "base_url")
        except Mistaken as exc:
            yield from exc.mistakes
    yield from _api_mistakes(found.api)
    wrong = key_mistake(found.api_key_env)
    if wrong:
        yield Mistake(message=wrong, key=("api_key_env",))
    for header, text in found.headers.items():
        wrong = header_mistake(header, text)
        if wrong:
            yield Mistake(message=wrong, key=("headers", header))
    if name == SCRIPTED_API:
        for key in ("api", "base_url", "api_key_env", "headers", "compat"):
            if getattr(found, key):
                yield Mistake(message="means nothing for a script, which answers from a file", key=(key,))
        return
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


def _usual_api(provider: str, found: KnownProvider) -> str:
    """What a provider speaks where its models say nothing else; at another address than its own, what it
    speaks there."""
    if found.api in APIS:
        return str(found.api)
    vendor = VENDORS.get(provider)
    if vendor is None:
        return CHAT_API
    return vendor.api if vendor.own_api is None or found.base_url else vendor.own_api
