"""Models, sessions, and the sequences that run on them."""

from __future__ import annotations

import codecs
import ctypes
import operator
import os
import threading
from array import array
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Sequence as Items

from . import _api
from ._errors import OutOfRange
from ._library import Handle, Options, blob, call, facts, lib, make, utf8
from ._tensor import Tensor
from ._watch import Watch

LEAST, MOST = -2**63, 2**63 - 1


def _ids(tokens: Iterable[int]) -> tuple[Any, int]:
    """Token ids as the two arguments they take; ctypes alone would cut them to 32 bits."""
    if isinstance(tokens, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"token ids are integers, got {type(tokens).__name__}")
    ids = [operator.index(token) for token in tokens]
    try:
        packed = array("i", ids)
    except OverflowError:
        wrong = next(index for index, token in enumerate(ids) if not -2**31 <= token < 2**31)
        raise OutOfRange(f"token {ids[wrong]} at index {wrong} is in no vocabulary",
                         "tokenizer.token") from None
    return (ctypes.c_int32 * len(ids)).from_buffer(packed), len(ids)


def _id(token: int) -> int:
    return _ids([token])[0][0]


def _from_blob(raw: bytes) -> list[int]:
    return list(memoryview(raw).cast("i")) if raw else []


def _turns(messages: Items[dict[str, str]]) -> tuple[Any, ...]:
    """The arguments of the chat functions: roles, their lengths, contents, their lengths, count."""
    count = len(messages)
    columns: list[Any] = []
    for key in ("role", "content"):
        raw = [message[key].encode() for message in messages]
        columns += [(ctypes.c_char_p * count)(*raw), (ctypes.c_size_t * count)(*map(len, raw))]
    return *columns, count


class Runtime(Handle):
    """Threads and kernel set. Options: threads, isa, amx."""

    _release = "soma_runtime_release"

    def __init__(self, **options: Any) -> None:
        settings = Options("runtime", options)
        super().__init__(make(lib.soma_runtime_create, _api.SOMA_HEADER_ABI, settings._raw))

    @property
    def facts(self) -> dict[str, Any]:
        return facts(lib.soma_runtime_facts, self._raw)


@dataclass(frozen=True)
class Generation:
    """What generate made."""

    text: str
    tokens: list[int]
    finish: str            # "end", "length", "stopped" or "context_full"
    prompt_tokens: list[int]
    prefill_s: float
    decode_s: float
    first_token_s: float


class Model(Handle):
    """A model file, opened and checked; a session is made when it is first needed.

    load: "map" or "read"; the other options are those of Session. `runtime` may be shared by
    models. `progress(phase, done, total)` is called while opening and packing; returning False
    stops, with Cancelled.
    """

    _release = "soma_model_release"

    def __init__(self, path: str | os.PathLike[str], *, runtime: Runtime | None = None,
                 load: str | None = None,
                 progress: Callable[[str, int, int], Any] | None = None,
                 **session_options: Any) -> None:
        name = os.fsencode(path)
        settings = Options("model", {"load": load})
        Options("session", session_options)  # what is wrong with them is wrong now
        self.runtime = runtime or Runtime()
        self._session_options = session_options
        self._progress = progress
        self._session: Session | None = None
        self._session_lock = threading.RLock()  # a progress function may ask for the session
        keep = super().__init__
        Watch(self.runtime, progress=progress).run(lambda cancel: keep(make(
            lib.soma_model_open, self.runtime._raw, name, len(name), settings._raw, cancel)))

    @property
    def facts(self) -> dict[str, Any]:
        return facts(lib.soma_model_facts, self._raw)

    @property
    def session(self) -> "Session":
        """The model's own session, made with the options given to Model."""
        with self._session_lock:
            if self._session is None:
                self._session = Session(self, progress=self._progress, **self._session_options)
            return self._session

    def tokenize(self, text: str, *, special: bool = True, begin: bool = False) -> list[int]:
        flags = _api.SOMA_TEXT_SPECIAL * special | _api.SOMA_TEXT_BEGIN * begin
        return _from_blob(blob(lib.soma_model_tokenize, self._raw, *utf8(text), flags))

    def detokenize(self, tokens: Iterable[int], *, special: bool = False) -> str:
        return blob(lib.soma_model_detokenize, self._raw, *_ids(tokens),
                    _api.SOMA_TEXT_SPECIAL * special).decode()

    def piece(self, token: int, *, special: bool = False) -> bytes:
        return blob(lib.soma_model_piece, self._raw, _id(token), _api.SOMA_TEXT_SPECIAL * special)

    def ends(self, token: int) -> bool:
        return lib.soma_model_ends(self._raw, _id(token)) == 1

    def chat(self, messages: Items[dict[str, str]]) -> str:
        """The prompt of a conversation ({"role", "content"}) in the model's own template, as text
        to look at: `chat_tokens` is what to run."""
        return blob(lib.soma_model_chat, self._raw, *_turns(messages)).decode()

    def chat_tokens(self, messages: Items[dict[str, str]]) -> list[int]:
        """The prompt of a conversation as token ids. What a content says is ordinary text, even if
        it spells a control token: it can't open a turn of its own."""
        return _from_blob(blob(lib.soma_model_chat_tokens, self._raw, *_turns(messages)))

    def prompt_tokens(self, prompt: Any, *, raw: bool = False) -> list[int]:
        """Token ids of a prompt: a text (one user turn, or with `raw` continued as it stands), a
        conversation, or ids."""
        if isinstance(prompt, str):
            if raw:
                return self.tokenize(prompt, begin=True)
            return self.chat_tokens([{"role": "user", "content": prompt}])
        if isinstance(prompt, (bytes, bytearray, memoryview)):
            raise TypeError(f"a prompt is a str, a conversation or token ids, got "
                            f"{type(prompt).__name__}: decode it first")
        prompt = list(prompt)
        if prompt and isinstance(prompt[0], dict):
            return self.chat_tokens(prompt)
        return prompt

    def generate(self, prompt: Any, *, raw: bool = False,
                 on_text: Callable[[str], Any] | None = None, timeout_s: float | None = None,
                 **options: Any) -> Generation:
        """Continues a prompt in one call. `on_text` gets each piece as it comes; returning False
        stops. Options: tokens, temperature, top_k, top_p, min_p, repetition_penalty,
        penalty_window, seed, stream, ignore_end."""
        return Sequence(self.session).generate(self.prompt_tokens(prompt, raw=raw), on_text=on_text,
                                               timeout_s=timeout_s, **options)

    def stream(self, prompt: Any, *, raw: bool = False, **options: Any) -> Iterator[str]:
        """Continues a prompt piece by piece, in the pace of the one who iterates. The options are
        those of generate; they are checked, and the prompt is run, before this returns."""
        settings = Options("generate", options)
        sequence = Sequence(self.session)
        sequence.prefill(self.prompt_tokens(prompt, raw=raw))
        return self._pieces(sequence, settings)

    def _pieces(self, sequence: "Sequence", settings: Options) -> Iterator[str]:
        """The loop of generate: the last token is chosen, but not run."""
        left = settings.integer("tokens")
        ignore_end = settings.integer("ignore_end") == 1
        context = sequence._session.context
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while left > 0:
            token = sequence._sample(settings)
            left -= 1
            if len(sequence) == context or (self.ends(token) and not ignore_end):
                left = 0
            text = decoder.decode(self.piece(token), left == 0)
            if text:
                yield text
            if left > 0:
                sequence.decode(token)

    def logits(self, tokens: Iterable[int]) -> Any:
        """Logits of every position, a NumPy array [positions, vocabulary] without a copy."""
        sequence = Sequence(self.session)
        sequence.prefill(tokens, all_logits=True)
        return sequence.logits().numpy()


class Session(Handle):
    """A model made ready to run. Options: context, sequences, prefill_rows, policy."""

    _release = "soma_session_release"

    def __init__(self, model: Model, *, progress: Callable[[str, int, int], Any] | None = None,
                 **options: Any) -> None:
        self.runtime = model.runtime
        settings = Options("session", options)
        keep = super().__init__
        Watch(self.runtime, progress=progress).run(lambda cancel: keep(make(
            lib.soma_session_create, model._raw, settings._raw, cancel)))
        self.context: int = self.facts["context"]

    @property
    def facts(self) -> dict[str, Any]:
        return facts(lib.soma_session_facts, self._raw)


class Sequence(Handle):
    """Tokens that run on a session. One call at a time. Empty or not, it is true."""

    _release = "soma_sequence_release"

    def __init__(self, session: Session, _raw: ctypes.c_void_p | None = None) -> None:
        self._session = session
        super().__init__(_raw or make(lib.soma_sequence_create, session._raw))

    def __len__(self) -> int:
        return lib.soma_sequence_length(self._raw)

    def __bool__(self) -> bool:
        return True

    @property
    def tokens(self) -> list[int]:
        return _from_blob(blob(lib.soma_sequence_tokens, self._raw))

    def prefill(self, tokens: Iterable[int], *, all_logits: bool = False,
                timeout_s: float | None = None) -> None:
        ids = _ids(tokens)
        which = _api.SOMA_LOGITS_ALL if all_logits else _api.SOMA_LOGITS_LAST
        Watch(self._session.runtime, timeout_s=timeout_s).run(lambda cancel: call(
            lib.soma_sequence_prefill, self._raw, *ids, which, cancel))

    def decode(self, token: int) -> None:
        """Appends one token and computes its logits. A step is short: nothing cancels it."""
        one = (ctypes.c_void_p * 1)(self._raw.value)
        call(lib.soma_sequence_decode, one, *_ids([token]), None)

    def sample(self, **options: Any) -> int:
        return self._sample(Options("generate", options))

    def _sample(self, settings: Options) -> int:
        token = ctypes.c_int32()
        call(lib.soma_sequence_sample, self._raw, settings._raw, ctypes.byref(token))
        return token.value

    def logits(self) -> Tensor:
        return Tensor(make(lib.soma_sequence_logits, self._raw))

    def truncate(self, length: int) -> None:
        # ctypes would cut an integer of more bits; this one the library refuses.
        length = max(LEAST, min(operator.index(length), MOST))
        call(lib.soma_sequence_truncate, self._raw, length)

    def fork(self) -> "Sequence":
        return Sequence(self._session, make(lib.soma_sequence_fork, self._raw))

    def generate(self, prompt: Iterable[int], *, on_text: Callable[[str], Any] | None = None,
                 timeout_s: float | None = None, **options: Any) -> Generation:
        prompt = list(prompt)
        ids = _ids(prompt)
        settings = Options("generate", options)
        watch = Watch(self._session.runtime, timeout_s=timeout_s)

        def token_came(_user: Any, _token: int, text: int, length: int) -> int:
            def body() -> int:
                if on_text is not None and length:
                    if on_text(ctypes.string_at(text, length).decode()) is False:
                        return _api.SOMA_STOP
                return _api.SOMA_CONTINUE
            return watch.guarded(body)

        result = watch.run(lambda cancel: facts(
            lib.soma_sequence_generate, self._raw, *ids, settings._raw,
            _api.soma_token_fn(token_came), None, _api.soma_destroy_fn(), cancel))
        return Generation(result["text"], result["tokens"], result["finish"], prompt,
                          result["prefill_s"], result["decode_s"], result["first_token_s"])
