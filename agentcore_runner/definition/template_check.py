"""What is wrong with a template, found without filling it in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from jinja2 import TemplateSyntaxError, nodes

from agentcore_runner.definition import jinja
from agentcore_runner.definition.places import Places, Span
from agentcore_runner.definition.problems import Problem
from agentcore_runner.definition.sandbox import free_names
from agentcore_runner.definition.source import Source
from agentcore_runner.definition.template import Included, Template, dotted
from agentcore_runner.definition.template_names import Helper, Use, helpers, reading_tags, referenced, uses
from agentcore_runner.definition.vocabulary import CAREFUL, MOST_GUESSES
from agentcore_runner.words import nearest

# Names that Jinja2 itself defines, and where.
ELSEWHERE = {
    "loop": "it is known inside {% for %}",
    "caller": "it is known inside a macro that {% call %} calls",
    "super": "it is known inside a {% block %} of a template that extends another",
}


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a template may name: each root with its names (`inputs` → language, path …). `elsewhere` are roots
    that only other templates see, `local` names that an including template defines; `imported`: the file is
    imported, and sees the roots only with context."""

    roots: Mapping[str, frozenset[str]]
    elsewhere: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()
    imported: bool = False


class Checked(msgspec.Struct, kw_only=True):
    """The problems, and the uses as (root, name); name None is the whole root. `complete` is false when a
    syntax error hides what else the template uses."""

    problems: list[Problem] = []
    uses: set[tuple[str, str | None]] = set()
    complete: bool = True


def check(
    template: Template, scope: Scope, sources: Mapping[str, Source], *, expression: bool = False
) -> Checked:
    """Syntax, filters, tests and names of a template and of the files it includes; `sources` are the texts of
    files by the names they have in messages."""
    review = _Review(template, scope, sources, expression=expression)
    source = review.source
    try:
        tree = jinja.parse_expression(source) if expression else jinja.parse(source)
        review.names(tree)
        review.included(tree)
        if not review.checked.problems and not expression:
            jinja.compiled(template.source, template.name, template.file, template.includes)
    except TemplateSyntaxError as exc:
        braces = expression and "{{" in source
        hint = "write the expression without {{ }}" if braces else None
        place = Span(source.index("{{"), 2) if braces else review.places.opening(exc.lineno)
        review.report(place, "template-syntax", exc.message or "not a template", hint)
        review.checked.complete = False
    except RecursionError:
        review.report(Span(0, 1), "template-syntax", "the template is nested too deeply")
        review.checked.complete = False
    return review.checked


class _Review:
    """The check of one template; the files it includes get reviews of their own."""

    def __init__(
        self, template: Template, scope: Scope, sources: Mapping[str, Source], *, expression: bool = False
    ) -> None:
        self.template, self.scope, self.sources = template, scope, sources
        self.checked = Checked()
        self.guesses: dict[tuple[str, str], str | None] = {}
        self.source = template.unfolded()
        self.env = jinja.environment(template.includes)
        self.places = Places(self.source, self.env.lexer, expression=expression)

    def names(self, tree: nodes.Template) -> None:
        """Report unknown filters, tests and names; remember what is used."""
        tables: dict[str, dict[str, Any]] = {"filter": dict(self.env.filters), "test": dict(self.env.tests)}
        for helper in helpers(tree):
            if helper.name not in (self.env.filters if helper.kind == "filter" else self.env.tests):
                self._misnamed(helper)
                tables[helper.kind][helper.name] = _nothing
        # A scope analysis stops at unknown filters, so for its sake they exist.
        lenient = self.env.overlay()
        lenient.filters, lenient.tests = tables["filter"], tables["test"]
        tree.set_environment(lenient)
        free = free_names(tree) - self.scope.local
        if tree.find(nodes.Extends) is None:
            # A block without a template above it has nothing to call.
            free |= {name.name for name in tree.find_all(nodes.Name) if name.name == "super"}
        for use in uses(tree, frozenset(free), self.scope.roots):
            self._use(use)

    def _misnamed(self, helper: Helper) -> None:
        known = self.env.filters if helper.kind == "filter" else self.env.tests
        close = self._nearest(helper.kind, helper.name, known)
        hint = f"did you mean {close!r}?" if close else None
        find = self.places.filter if helper.kind == "filter" else self.places.test
        message = f"there is no {helper.kind} {helper.name!r}"
        self.report(find(helper.line, helper.name), "template-filter", message, hint)

    def _use(self, use: Use) -> None:
        names = self.scope.roots.get(use.root)
        if use.own:
            # Its place is not that of a mistake with the same name.
            self.places.name(use.line, use.root)
        elif names is None:
            self._unknown_root(use)
        elif use.name is None or use.name in names:
            self.checked.uses.add((use.root, use.name))
        else:
            close = self._nearest(use.root, use.name, names)
            hint = f"did you mean {dotted(use.root, close)!r}?" if close else None
            verb = "declared"
            if use.root == "env":
                verb, hint = "exposed", hint or f"add {use.name} to env.expose"
            message = f"{dotted(use.root, use.name)!r} is not {verb}"
            place = self.places.name(use.line, use.root, use.name)
            self.report(place, "template-undefined", message, hint)

    def _unknown_root(self, use: Use) -> None:
        message, hint = f"{use.root!r} is not declared", self._meant(use.root)
        if use.root in ELSEWHERE:
            message, hint = f"{use.root!r} means nothing here", ELSEWHERE[use.root]
        elif use.root in self.scope.elsewhere:
            hint = f"this template sees {', '.join(self.scope.roots)}"
            if self.scope.imported:
                hint = "add 'with context' to the import"
        self.report(self.places.name(use.line, use.root), "template-undefined", message, hint)

    def _meant(self, root: str) -> str | None:
        exact = [dotted(other, root) for other, names in self.scope.roots.items() if root in names]
        close = exact[0] if exact else self._nearest("", root, self.scope.roots)
        return f"did you mean {close!r}?" if close else None

    def _nearest(self, kind: str, word: str, known: Iterable[str]) -> str | None:
        """The known name of a kind that was probably meant; for the first words only."""
        if (kind, word) not in self.guesses:
            guess = nearest(word, known, CAREFUL) if len(self.guesses) < MOST_GUESSES else None
            self.guesses[kind, word] = guess
        return self.guesses[kind, word]

    def included(self, tree: nodes.Template) -> None:
        """Check the files that this template includes, in what they may see."""
        files = {included.name: included for included in self.template.includes}
        for node in reading_tags(tree):
            for name in referenced(node):
                included = files.get(self.env.join_path(name, self.template.name))
                if included is not None:
                    self._merge(check(self._template(included), self._scope(node, tree), self.sources))

    def _template(self, included: Included) -> Template:
        # Without the file itself: a file that includes itself is checked once.
        others = tuple(other for other in self.template.includes if other.name != included.name)
        return Template(
            source=included.text, file=included.file, line=1, column=1, name=included.name, includes=others
        )

    def _scope(self, node: nodes.Node, tree: nodes.Template) -> Scope:
        """An import sees nothing unless it is told `with context`; an include also sees local names."""
        if isinstance(node, nodes.Import | nodes.FromImport) and not node.with_context:
            return Scope(roots={}, elsewhere=frozenset(self.scope.roots), imported=True)
        local = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
        # Jinja2 hands on the state of a loop only where the loop itself asks for it.
        local |= {"loop"} & {name.name for name in tree.find_all(nodes.Name)}
        return msgspec.structs.replace(self.scope, local=self.scope.local | local)

    def _merge(self, other: Checked) -> None:
        self.checked.problems += other.problems
        self.checked.uses |= other.uses
        self.checked.complete &= other.complete

    def report(self, place: Span, rule: str, message: str, hint: str | None = None) -> None:
        """A problem at a place of the text."""
        if self.template.marks:
            line, column = self.template.place(place.offset)
        else:
            line, column = self.places.line_and_column(place.offset)
            column += self.template.column - 1 if line == 1 else 0
            line += self.template.line - 1
        source = self.sources.get(self.template.file) or Source(self.template.file, "")
        self.checked.problems.append(
            source.problem(line, column, rule, message, hint=hint, width=place.width)
        )


def _nothing(value: object) -> bool:
    """Stands in for a filter or test that does not exist; never called."""
    return bool(value)
