"""A tiny GGUF, built in a moment, that llama.cpp serves like any model and whose answers are fixed.

Nothing is downloaded or trained. The file is of the `llama` architecture with a byte-level vocabulary, so
any prompt can be encoded. Attention and feed-forward give zero and the embeddings are one-hot, so the network
is an exact bigram table: what it says depends on the last token only, at any temperature, on any machine.

    state at the end of the prompt           what the model writes
    <|say|>    (the default)                 "Hello from a tiny local model."
    <|act|>    (tools given, no result yet)  one tool call; llama.cpp's grammar makes it fit the tool's schema
    <|done|>   (a tool result came last)     "The tool has answered; done!"
    <|long|>   (user text has '[long]')      an endless sentence, up to the output cap
    <|think-say|>, <|think-act|> ('[think]') a thought in <think> </think>, then one of the first two

The file's own chat template chooses the state, so a test picks it by what it sends. '[say]' in the last user
text makes it answer in words although tools are given. Of several tools it calls the one whose name comes
first in byte order; a string argument is "demo", an integer 1.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

CONTEXT = 65_536  # tokens; nearly every token is a byte, so this is about 64 KB of prompt

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
STATES = ["<|say|>", "<|act|>", "<|done|>", "<|long|>", "<|think-say|>", "<|think-act|>"]
MARKS = ["<think>", "<tool_call>", "</tool_call>"]

# A bigram sees only the last token: no word may stand in two of these sentences, and the closing mark of a
# thought is spelled with other tokens for each of the two that follow it.
SAY = ["Hello", " from", " a", " tiny", " local", " model", "."]
DONE = ["The", " tool", " has", " answered", "; ", "done", "!"]
LONG = ["on", " and", " so "]
THINK_SAY = ["<think>", "No", " need", " for", " tools", " here \u2026", "</thi", "nk>"]
THINK_ACT = ["<think>\n", "I", " had", " better", " look", " it up \u2026", "</th", "ink>"]
VALUE = "demo"
OPENINGS = {
    "<|say|>": SAY,
    "<|done|>": DONE,
    "<|long|>": LONG,
    "<|think-say|>": THINK_SAY,
    "<|think-act|>": THINK_ACT,
}

DIM = 512
HEAD_DIM = FEED_FORWARD = 32  # one head, and small: long prompts cost what the attention costs

TEMPLATE = r"""
{%- set ns = namespace(state='<|say|>', think=false) %}
{%- if tools %}
{{- '<|im_start|>system\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{%- endif %}
{{- "# Tools\n<tools>" }}
{%- for tool in tools %}{{- "\n" }}{{- tool | tojson }}{%- endfor %}
{{- "\n</tools>\n<tool_call>\n" }}
{{- "{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n" }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if (message.role == 'user') or (message.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- if message.role == 'user' %}
{%- set ns.think = '[think]' in message.content %}
{%- if '[long]' in message.content %}{%- set ns.state = '<|long|>' %}
{%- elif tools and '[say]' not in message.content %}{%- set ns.state = '<|act|>' %}
{%- else %}{%- set ns.state = '<|say|>' %}{%- endif %}
{%- endif %}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' }}
{%- if message.reasoning_content %}{{- '<think>' + message.reasoning_content + '</think>' }}{%- endif %}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- for tool_call in message.tool_calls %}
{%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
{{- '<tool_call>\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
{{- tool_call.arguments | tojson }}{{- '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\n<tool_response>\n' }}{{- message.content }}{{- '\n</tool_response><|im_end|>\n' }}
{%- set ns.state = '<|done|>' %}{%- set ns.think = false %}
{%- endif %}
{%- endfor %}
{%- if ns.think and ns.state == '<|act|>' %}{%- set ns.state = '<|think-act|>' %}{%- endif %}
{%- if ns.think and ns.state == '<|say|>' %}{%- set ns.state = '<|think-say|>' %}{%- endif %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' + ns.state }}
{%- endif %}
""".strip()


def write_scripted_gguf(path: Path) -> None:
    """Write the model to `path`."""
    vocabulary = Vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    _write_settings(writer, vocabulary)
    _write_tensors(writer, vocabulary)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Vocabulary:
    """Marks, then the 256 bytes, then the words of the sentences; `id` finds the number of a text's token."""

    def __init__(self) -> None:
        self.tokens = [*SPECIAL, *STATES, *MARKS]
        self.types = [gguf.TokenType.CONTROL] * len(SPECIAL + STATES) + [gguf.TokenType.USER_DEFINED] * len(
            MARKS
        )
        self.first_byte = len(self.tokens)
        self._symbols = _byte_symbols()
        self._ids = {text: number for number, text in enumerate(self.tokens)}
        script = [*itertools.chain(*OPENINGS.values()), VALUE]
        assert len(script) == len(set(script)), "a word stands in two sentences"
        for text in [*self._symbols, *map(self.stored, script), self.stored("  ")]:
            if text not in self._ids:
                self._ids[text] = len(self.tokens)
                self.tokens.append(text)
                self.types.append(gguf.TokenType.NORMAL)
        assert len(self.tokens) <= DIM, "one-hot embeddings need a dimension per token"

    def stored(self, text: str) -> str:
        """The text as a GPT-2 vocabulary stores it."""
        return "".join(self._symbols[byte] for byte in text.encode())

    def id(self, text: str) -> int:
        return self._ids[text] if text in self._ids else self._ids[self.stored(text)]


def _byte_symbols() -> list[str]:
    """GPT-2's printable stand-in for each of the 256 bytes, in byte order."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = itertools.count(256)
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def _bigrams(vocabulary: Vocabulary) -> npt.NDArray[np.float64]:
    """score[next, last]: what the model would like to write after each token."""
    # A base order that is the same in every row, so that a choice the script leaves open (a grammar's, say)
    # is always the same one: printable bytes by value, then everything else.
    base = np.full(len(vocabulary.tokens), -4000.0)
    for byte in range(33, 127):
        base[vocabulary.first_byte + byte] = -10.0 * (byte - 32)
    score = np.repeat(base[:, None], len(vocabulary.tokens), axis=1)

    def chain(*path: str) -> None:
        for last, following in itertools.pairwise(map(vocabulary.id, path)):
            score[following, last] = 4000.0

    def prefer(last: str, *following: str) -> None:
        for rank, text in enumerate(following):
            score[vocabulary.id(text), vocabulary.id(last)] = 3000.0 - 100.0 * rank

    # Inside a call or under a response format llama.cpp's grammar forbids what does not fit: these are
    # wishes.
    for last in (SAY[-1], DONE[-1]):  # where a tool call is required the text may not end here
        prefer(last, "<tool_call>")
    for state in STATES:
        prefer(state, "{", "[")
    prefer('"', VALUE, "}", "]", ",", ":")
    prefer("\n", "{", "</tool_call>")
    prefer(VALUE, '"')
    prefer(":", '"', "1", "t", "{", "[", "n")
    prefer("{", "}", '"')
    prefer("[", "]", '"', "1", "{")
    prefer(",", '"')
    prefer("}", "}", "]", "\n", ",", "</tool_call>")
    prefer("]", "}", "]", ",")
    prefer("e", "}", "]", ",", '"')  # true, false
    prefer("l", "}", "]", ",")  # null
    for digit in "0123456789":
        prefer(digit, "}", "]", ",", '"')

    for state, sentence in OPENINGS.items():
        chain(state, *sentence)
    chain("<|act|>", "<tool_call>", "\n")
    chain(SAY[-1], "<|im_end|>")
    chain(DONE[-1], "<|im_end|>")
    chain(LONG[-1], LONG[0])
    chain(THINK_SAY[-1], SAY[0])
    chain(THINK_ACT[-1], "<tool_call>")
    chain("</tool_call>", "<|im_end|>")
    return score


def _write_settings(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    writer.add_name("tiny-scripted")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(DIM)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([token.encode() for token in vocabulary.tokens])
    writer.add_token_types([int(kind) for kind in vocabulary.types])
    space = vocabulary.stored(" ")
    writer.add_token_merges([f"{space} {space}"])  # llama.cpp wants one at least
    writer.add_bos_token_id(vocabulary.id("<|im_start|>"))
    writer.add_eos_token_id(vocabulary.id("<|im_end|>"))
    writer.add_pad_token_id(vocabulary.id("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _write_tensors(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    size = len(vocabulary.tokens)
    output = np.zeros((size, DIM), np.float32)
    output[:, :size] = _bigrams(vocabulary) / np.sqrt(DIM)  # undoes the scale of the final norm
    tensors: dict[str, npt.NDArray[Any]] = {
        "token_embd.weight": np.eye(size, DIM, dtype=np.float16),
        "output_norm.weight": np.ones(DIM, np.float32),
        "output.weight": output,
        "blk.0.attn_norm.weight": np.ones(DIM, np.float32),
        "blk.0.ffn_norm.weight": np.ones(DIM, np.float32),
    }
    zeros = {
        "attn_q": (HEAD_DIM, DIM),
        "attn_k": (HEAD_DIM, DIM),
        "attn_v": (HEAD_DIM, DIM),
        "attn_output": (DIM, HEAD_DIM),
        "ffn_gate": (FEED_FORWARD, DIM),
        "ffn_up": (FEED_FORWARD, DIM),
        "ffn_down": (DIM, FEED_FORWARD),
    }
    for name, shape in zeros.items():
        tensors[f"blk.0.{name}.weight"] = np.zeros(shape, np.float16)
    for name, values in tensors.items():
        writer.add_tensor(name, values)
