"""Names that the core does not have, and names that are its own affair."""

from agentcore_runner import core
from agentcore_runner.core import Agent, Agnet  # error: mypy, pyright

__all__ = ["Agnet"]

print(core.Agnet)  # error: mypy, pyright
print(core.import_module("json"))  # error: mypy, pyright
print(core.find_spec("json"))  # error: mypy, pyright
print(core.TYPE_CHECKING)  # error: mypy, pyright


def run(agent: Agent) -> None:
    agent.continue_with("more")  # error: mypy, pyright
    print(agent.state.is_busy)  # error: mypy, pyright
    print(agent.state.streaming_message.text)  # error: mypy, pyright
