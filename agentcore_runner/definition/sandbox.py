"""The sandboxed Jinja2: strict about names, bounded in size, and doing nothing while it is only checked."""

from __future__ import annotations

import functools
import json
import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import BaseLoader, StrictUndefined, TemplateNotFound, UndefinedError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from agentcore_runner.definition.bounds import (
    SIZED_CALLS,
    SIZED_FILTERS,
    bounded_format,
    bounded_replace,
    limit,
    limit_format,
    limit_numbers,
    limit_operation,
    limit_replace,
    sized,
)
from agentcore_runner.definition.template import Included, dotted

# What a caller may leave out, and a template may therefore ask for.
OPTIONAL_ROOTS = {"inputs", "args"}


class Root(dict[str, Any]):
    """The values of a root such as `inputs`; it knows its name, so that a message can say what is missing."""

    __slots__ = ("_root",)

    def __init__(self, root: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._root = root


class NotGiven(UndefinedError):
    """A declared name of a root has no value; `hint` is how a template does without one."""

    def __init__(self, root: str, name: str, _: str | None = None) -> None:
        self.root, self.name = root, name
        place = dotted(root, name)
        super().__init__(f"{place} is not given")
        self.hint = f"use {{{{ {place} | default('') }}}}"


class Missing(StrictUndefined):
    """A name without a value. What a caller left out is false in a condition; everything else is an error."""

    __slots__ = ("_root",)

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = missing,
        name: str | None = None,
        exc: type[Exception] = UndefinedError,
    ) -> None:
        self._root = obj._root if isinstance(obj, Root) else None
        failure: Any = exc
        if isinstance(obj, Root) and hint is None:
            failure = functools.partial(NotGiven, obj._root, str(name))
        super().__init__(hint, obj, name, failure)

    @property
    def _left_out(self) -> bool:
        return self._root in OPTIONAL_ROOTS

    def __bool__(self) -> bool:  # type: ignore[override]
        return False if self._left_out else super().__bool__()


def left_out(value: object) -> bool:
    """Whether a value is an input or an argument that nobody gave."""
    return isinstance(value, Missing) and value._left_out


class Generator(CodeGenerator):
    """Code for templates in which nothing is computed beforehand: an author's arithmetic waits for a run."""

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if not isinstance(node, nodes.TemplateData | nodes.Const):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def visit_EvalContextModifier(self, node: nodes.EvalContextModifier, frame: Frame) -> None:
        if not all(isinstance(option.value, nodes.Const) for option in node.options):
            self.fail("autoescape is either true or false", node.lineno)
        super().visit_EvalContextModifier(node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.concatenated((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class _Names(Generator):
    """Gathers the names that a template does not define itself, and writes no code."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env, "<names>", "<names>", optimized=False)
        self.free: set[str] = set()

    def write(self, x: str) -> None:
        pass

    def enter_frame(self, frame: Frame) -> None:
        super().enter_frame(frame)
        for action, name in frame.symbols.loads.values():
            if action == "resolve" and name is not None and name not in self.environment.globals:
                self.free.add(name)


class Environment(ImmutableSandboxedEnvironment):
    """Undefined names are errors, the last line feed stays, and nothing is read but what was collected."""

    code_generator_class = Generator
    intercepted_binops = frozenset({"*", "**", "%", "+", "-", "/", "//"})

    def __init__(self, includes: tuple[Included, ...] = ()) -> None:
        super().__init__(
            undefined=Missing,
            keep_trailing_newline=True,
            optimized=False,
            loader=_Collected(includes),
        )
        self.filters["tojson"] = _json
        for name, most in SIZED_FILTERS.items():
            self.filters[name] = sized(self.filters[name], most)
        self.filters["replace"] = bounded_replace(self.filters["replace"])
        self.filters["format"] = bounded_format(self.filters["format"])

    def getattr(self, obj: Any, attribute: str) -> Any:
        """An input called `items` is the input, not the method of the map it is in."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def join_path(self, template: str, parent: str) -> str:
        """Includes are relative to the file that names them."""
        return posixpath.normpath(posixpath.join(posixpath.dirname(parent), template))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The operation, unless its result would be too large."""
        limit_operation(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """The call, unless it asks for a text that is too large."""
        name, owner = getattr(__obj, "__name__", ""), getattr(__obj, "__self__", None)
        if name in SIZED_CALLS:
            limit_numbers([*args, *kwargs.values()])
        elif name == "replace" and isinstance(owner, str):
            limit_replace(owner, *args[:2])
        return super().call(__context, __obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`format` of a text, whose widths are written out and bounded."""
        wrapped = super().wrap_str_format(value)
        if wrapped is not None:
            limit_format(value.__self__)
        return wrapped

    def concatenated(self, parts: Iterable[Any]) -> str:
        """The parts as one text, for the operator `~`."""
        texts = [str(part) for part in parts]
        limit(sum(map(len, texts)))
        return "".join(texts)


def free_names(tree: nodes.Template) -> set[str]:
    """The names that a template uses and does not define; raises TemplateSyntaxError."""
    assert isinstance(tree.environment, Environment)
    names = _Names(tree.environment)
    names.visit(tree)
    return names.free


def _json(value: Any, indent: int | None = None) -> str:
    """JSON for a prompt: unlike Jinja2's own filter it does not escape for HTML."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


class _Collected(BaseLoader):
    def __init__(self, includes: tuple[Included, ...]) -> None:
        self.includes = {included.name: included for included in includes}

    def get_source(self, environment: Any, template: str) -> Any:
        included = self.includes.get(template)
        if included is None:
            raise TemplateNotFound(template)
        return included.text, included.file, lambda: True
