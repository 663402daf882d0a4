"""What can be seen of an agent at any moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agentcore_runner.core import events as ev
from agentcore_runner.core.messages import AgentMessage, AssistantMessage
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.tools import AgentTool


class AgentState:
    """An agent's settings and conversation. What is assigned takes effect with the next run; `tools` and
    `messages` are copied when assigned."""

    def __init__(
        self,
        *,
        system_prompt: str,
        model: Model,
        thinking_level: ThinkingLevel,
        tools: Iterable[AgentTool],
        messages: Iterable[AgentMessage],
        partial: Callable[[], AssistantMessage | None],
    ) -> None:
        self.system_prompt = system_prompt
        self.model = model
        self.thinking_level = thinking_level
        self.is_streaming = False
        self.pending_tool_calls: set[str] = set()
        self.error_message: str | None = None
        self._tools = tuple(tools)
        self._messages = list(messages)
        self._partial = partial

    @property
    def tools(self) -> tuple[AgentTool, ...]:
        """What the model is offered."""
        return self._tools

    @tools.setter
    def tools(self, tools: Iterable[AgentTool]) -> None:
        self._tools = tuple(tools)

    @property
    def messages(self) -> list[AgentMessage]:
        """The conversation so far; it grows while a run is in progress."""
        return self._messages

    @messages.setter
    def messages(self, messages: Iterable[AgentMessage]) -> None:
        self._messages = list(messages)

    @property
    def streaming_message(self) -> AssistantMessage | None:
        """The answer so far while one is arriving; it is put together when asked for."""
        return self._partial()

    def take_in(self, event: ev.AgentEvent) -> None:
        """Follow an event of the run."""
        match event:
            case ev.MessageEndEvent():
                self._messages.append(event.message)
            case ev.ToolExecutionStartEvent():
                self.pending_tool_calls.add(event.tool_call_id)
            case ev.ToolExecutionEndEvent():
                self.pending_tool_calls.discard(event.tool_call_id)
            case ev.TurnEndEvent(message=AssistantMessage() as answer):
                self.error_message = answer.error_message
