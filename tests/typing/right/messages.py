"""Messages and content, made and taken apart."""

from typing import assert_never

import msgspec

from agentcore_runner.core import (
    AgentEvent,
    AgentMessage,
    AssistantContent,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionDetails,
    CompactionSummaryMessage,
    Converter,
    CustomMessage,
    Diagnostic,
    DiagnosticError,
    ErrorInfo,
    ErrorKind,
    ImageContent,
    Message,
    Model,
    ModelCost,
    PromptInput,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UsageCost,
    UserContent,
    UserMessage,
    bash_text,
    convert_message,
    convert_to_llm,
    decode_event,
    decode_message,
    message_tokens,
    normalize_prompt_input,
    priced,
    role_of,
    text_tokens,
)

IMAGE = ImageContent(data="aGk=", mime_type="image/png")
QUESTION = UserMessage(content=(TextContent(text="What is this?"), IMAGE), timestamp=0)
ANSWER = AssistantMessage(
    content=(
        ThinkingContent(thinking="Hm.", thinking_signature="s"),
        TextContent(text="A cat."),
        ToolCall(id="1", name="look", arguments={"closer": True}),
    ),
    api="scripted",
    provider="test",
    model="tiny",
    usage=Usage(input=10, output=2, cost=UsageCost(input=0.1)),
    stop_reason="done",
    timestamp=0,
    diagnostics=(Diagnostic(type="odd", timestamp=0, error=DiagnosticError(name="E", message="m")),),
)
HISTORY: list[AgentMessage] = [
    QUESTION,
    ANSWER,
    ToolResultMessage(
        tool_call_id="1", tool_name="look", content=(TextContent(text="It is a cat."),), timestamp=0
    ),
    BashExecutionMessage(command="ls", output="", exit_code=0, timestamp=0),
    CompactionSummaryMessage(
        summary="s", tokens_before=9, timestamp=0, details=CompactionDetails(read_files=("a",))
    ),
    BranchSummaryMessage(summary="s", from_id="7", timestamp=0),
    CustomMessage(custom_type="note", content="c", timestamp=0),
]


def described(message: AgentMessage) -> str:
    match message:
        case UserMessage(content=content):
            return "".join([shown(block) for block in content])
        case AssistantMessage(content=content, stop_reason=reason):
            return ending(reason) + "".join([shown(block) for block in content])
        case ToolResultMessage(tool_name=name, is_error=failed):
            return f"{name} {'failed' if failed else 'worked'}"
        case BashExecutionMessage():
            return bash_text(message)
        case CompactionSummaryMessage() | BranchSummaryMessage():
            return message.summary
        case CustomMessage(content=content):
            return content if isinstance(content, str) else "".join([shown(block) for block in content])
        case _:
            assert_never(message)


def shown(block: UserContent | AssistantContent) -> str:
    match block:
        case TextContent(text=text):
            return text
        case ThinkingContent():
            return "" if block.redacted else block.thinking
        case ImageContent(mime_type=kind):
            return kind
        case ToolCall(name=name, arguments=arguments):
            return f"{name}({', '.join(arguments)})"
        case _:
            assert_never(block)


def ending(reason: StopReason) -> str:
    match reason:
        case "done" | "length" | "refused":
            return ""
        case "error" | "aborted":
            return f"[{reason}] "
        case _:
            assert_never(reason)


def costs(answer: AssistantMessage, model: Model) -> float | None:
    usage = priced(answer.usage, model.cost or ModelCost(input=1.0))
    return usage.cost.total if usage.cost else None


def may_try_again(error: ErrorInfo | None) -> bool:
    hopeless: tuple[ErrorKind, ...] = ("auth", "bad_request", "refused")
    return error is not None and error.retryable and error.kind not in hopeless


def sent(history: list[AgentMessage]) -> list[Message]:
    one: Message | None = convert_message(history[0])
    remembering = Converter()
    return [*([one] if one else []), *convert_to_llm(history), *remembering(history)]


def prompts() -> list[AgentMessage]:
    several: PromptInput = [QUESTION, CustomMessage(custom_type="note", content=(IMAGE,), timestamp=0)]
    return [
        *normalize_prompt_input("Look", [IMAGE], timestamp=0),
        *normalize_prompt_input(QUESTION, timestamp=0),
        *normalize_prompt_input(several, timestamp=0),
    ]


def read_back(line: str) -> tuple[AgentMessage, AgentEvent]:
    return decode_message(line), decode_event(line.encode())


def changed(answer: AssistantMessage) -> AssistantMessage:
    later: AssistantMessage = msgspec.structs.replace(answer, timestamp=1)
    return later


tokens: float = sum(message_tokens(message) for message in HISTORY) + text_tokens("text")
names: list[str] = [role_of(message) for message in HISTORY]
said: str = ANSWER.text
calls: tuple[ToolCall, ...] = ANSWER.tool_calls
