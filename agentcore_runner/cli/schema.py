"""`agentcore-run schema`: the JSON Schemas of what people write and what they get."""

from __future__ import annotations

from typing import Any

import click


@click.command("schema", short_help="Print a JSON Schema.")
@click.argument("which", type=click.Choice(["agent", "events", "result"]))
def command(which: str) -> int:
    """Print the JSON Schema (2020-12) of agent files, of transcript records, or of the result object."""
    from agentcore_runner.cli.printing import emit_json

    emit_json(schema(which))
    return 0


def schema(which: str) -> dict[str, Any]:
    """One of the three published schemas."""
    if which == "agent":
        from agentcore_runner.definition.schema import agent_schema

        return agent_schema()
    from agentcore_runner.transcript.schemas import events_schema, result_schema

    return events_schema() if which == "events" else result_schema()
