"""Models, sessions, sequences, and the tensors that come out of them."""

from __future__ import annotations

import codecs
import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence as Items

from . import _api
from ._errors import Aborted, Cancelled
from ._library import Handle, Options, blob, call, facts, lib, make, utf8



def _ids(tokens: Items[int]) -> tuple[Any, int]:
    return (ctypes.c_int32 * len(tokens))(*tokens), len(tokens)


def _from_blob(raw: bytes) -> list[int]:
    return list(memoryview(raw).cast("i")) if raw else []


class _Watch:
    """A cancel object for one call: lets Ctrl-C and failing callbacks stop it at once.

    ctypes prints an exception of a callback and goes on, so callbacks keep theirs here, answer
    "stop", and the call site raises it.
    """

    def __init__(self, runtime: "Runtime", progress: Callable[[str, int, int], None] | None,
                 timeout_s: float | None) -> None:
        self.raised: BaseException | None = None
        self.raw = make(lib.soma_cancel_create, runtime._raw)
        if timeout_s is not None:
            call(lib.soma_cancel_set_deadline, self.raw, int(timeout_s * 1e9))

        def tick(_user: Any, phase: bytes, length: int, done: int, total: int) -> int:
            def body() -> int:
                if progress is not None:
                    progress(ctypes.string_at(phase, length).decode(), done, total)
                return _api.SOMA_CONTINUE
            return self.guarded(body)

        self._tick = _api.soma_tick_fn(tick)
        call(lib.soma_cancel_set_tick, self.raw, self._tick, None, _api.soma_destroy_fn())

    def guarded(self, body: Callable[[], int]) -> int:
        # An exception that arrives between two lines of Python is raised in here as well.
        try:
            return body() if self.raised is None else _api.SOMA_STOP
        except BaseException as problem:  # noqa: B902 - KeyboardInterrupt must get through
            self.raised = problem
            return 0

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (Cancelled, Aborted):
            # Only the callbacks stop a call in these ways. If none of them kept an exception, it
            # was raised in ctypes' own frames before `guarded` began: an interrupt.
            raise self.raised or KeyboardInterrupt from None
        finally:
            lib.soma_cancel_release(self.raw)


class Runtime(Handle):
    """Threads and kernel set. Options: threads, isa, amx."""

    _release = "soma_runtime_release"

    def __init__(self, **options: Any) -> None:
        settings = Options("runtime", options)
        super().__init__(make(lib.soma_runtime_create, _api.SOMA_HEADER_ABI, settings._raw))

    @property
    def facts(self) -> dict[str, Any]:
        return facts(lib.soma_runtime_facts, self._raw)


class Tensor(Handle):
    """Numbers that the library made; NumPy and DLPack see them without a copy, read-only."""

    _release = "soma_tensor_release"

    @property
    def shape(self) -> tuple[int, ...]:
        dims = lib.soma_tensor_shape(self._raw)
        return tuple(dims[i] for i in range(lib.soma_tensor_rank(self._raw)))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        kinds = {_api.SOMA_DTYPE_F32: "<f4", _api.SOMA_DTYPE_I32: "<i4"}
        return {"version": 3, "shape": self.shape,
                "typestr": kinds[lib.soma_tensor_dtype(self._raw)],
                "data": (lib.soma_tensor_data(self._raw), True)}

    def numpy(self) -> Any:
        """A read-only NumPy array over the same memory, which it keeps alive."""
        import numpy

        return numpy.asarray(self)


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
    models. `progress(phase, done, total)` is called while opening and packing.
    """

    _release = "soma_model_release"

    def __init__(self, path: str, *, runtime: Runtime | None = None, load: str | None = None,
                 progress: Callable[[str, int, int], None] | None = None,
                 **session_options: Any) -> None:
        self.runtime = runtime or Runtime()
        self._session_options = session_options
        self._progress = progress
        self._session: Session | None = None
        settings = Options("model", {"load": load})
        watch = _Watch(self.runtime, progress, None)
        super().__init__(watch.run(make, lib.soma_model_open, self.runtime._raw, *utf8(str(path)),
                                   settings._raw, watch.raw))

    @property
    def facts(self) -> dict[str, Any]:
        return facts(lib.soma_model_facts, self._raw)

    @property
    def session(self) -> "Session":
        """The model's own session, made with the options given to Model."""
        if self._session is None:
            self._session = Session(self, progress=self._progress, **self._session_options)
        return self._session

    def tokenize(self, text: str, *, special: bool = True, begin: bool = False) -> list[int]:
        flags = _api.SOMA_TEXT_SPECIAL * special | _api.SOMA_TEXT_BEGIN * begin
        return _from_blob(blob(lib.soma_model_tokenize, self._raw, *utf8(text), flags))

    def detokenize(self, tokens: Items[int], *, special: bool = False) -> str:
        return blob(lib.soma_model_detokenize, self._raw, *_ids(tokens),
                    _api.SOMA_TEXT_SPECIAL * special).decode()

    def piece(self, token: int, *, special: bool = False) -> bytes:
        return blob(lib.soma_model_piece, self._raw, token, _api.SOMA_TEXT_SPECIAL * special)

    def ends(self, token: int) -> bool:
        return lib.soma_model_ends(self._raw, token) == 1

    def chat(self, messages: Items[dict[str, str]]) -> str:
        """The prompt of a conversation ({"role", "content"}) in the model's own template."""
        count = len(messages)
        texts, lengths = [], []
        for key in ("role", "content"):
            raw = [message[key].encode() for message in messages]
            texts.append((ctypes.c_char_p * count)(*raw))
            lengths.append((ctypes.c_size_t * count)(*map(len, raw)))
        return blob(lib.soma_model_chat, self._raw, texts[0], lengths[0], texts[1], lengths[1],
                    count).decode()

    def prompt_tokens(self, prompt: Any, *, raw: bool = False) -> list[int]:
        """Token ids of a prompt: a text (one user turn, or with `raw` continued as it stands), a
        conversation, or ids."""
        if isinstance(prompt, str):
            if raw:
                return self.tokenize(prompt, begin=True)
            return self.tokenize(self.chat([{"role": "user", "content": prompt}]))
        prompt = list(prompt)
        if prompt and isinstance(prompt[0], dict):
            return self.tokenize(self.chat(prompt))
        return prompt

    def generate(self, prompt: Any, *, raw: bool = False,
                 on_text: Callable[[str], Any] | None = None, timeout_s: float | None = None,
                 **options: Any) -> Generation:
        """Continues a prompt in one call. `on_text` gets each piece as it comes; returning False
        stops. Options: tokens, temperature, top_k, top_p, min_p, repetition_penalty,
        penalty_window, seed, stream, ignore_end."""
        return Sequence(self.session).generate(self.prompt_tokens(prompt, raw=raw), on_text=on_text,
                                               timeout_s=timeout_s, **options)

    def stream(self, prompt: Any, *, raw: bool = False, tokens: int = 256,
               **options: Any) -> Iterator[str]:
        """Continues a prompt piece by piece, in the pace of the one who iterates."""
        sequence = Sequence(self.session)
        sequence.prefill(self.prompt_tokens(prompt, raw=raw))
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for _ in range(tokens):
            token = sequence.sample(**options)
            if self.ends(token) and not options.get("ignore_end"):
                break
            text = decoder.decode(self.piece(token))
            if text:
                yield text
            if len(sequence) == self.session.context:
                break
            sequence.decode(token)
        rest = decoder.decode(b"", True)
        if rest:
            yield rest

    def logits(self, tokens: Items[int]) -> Any:
        """Logits of every position, a NumPy array [positions, vocabulary] without a copy."""
        sequence = Sequence(self.session)
        sequence.prefill(tokens, all_logits=True)
        return sequence.logits().numpy()


class Session(Handle):
    """A model made ready to run. Options: context, sequences, prefill_rows, policy."""

    _release = "soma_session_release"

    def __init__(self, model: Model, *, progress: Callable[[str, int, int], None] | None = None,
                 **options: Any) -> None:
        self.runtime = model.runtime
        settings = Options("session", options)
        watch = _Watch(self.runtime, progress, None)
        super().__init__(watch.run(make, lib.soma_session_create, model._raw, settings._raw,
                                   watch.raw))
        self.context: int = self.facts["context"]

    @property
    def facts(self) -> dict[str, Any]:
        return facts(lib.soma_session_facts, self._raw)


class Sequence(Handle):
    """Tokens that run on a session. One call at a time."""

    _release = "soma_sequence_release"

    def __init__(self, session: Session, _raw: ctypes.c_void_p | None = None) -> None:
        self._session = session
        super().__init__(_raw or make(lib.soma_sequence_create, session._raw))

    def __len__(self) -> int:
        return lib.soma_sequence_length(self._raw)

    @property
    def tokens(self) -> list[int]:
        return _from_blob(blob(lib.soma_sequence_tokens, self._raw))

    def prefill(self, tokens: Items[int], *, all_logits: bool = False,
                timeout_s: float | None = None) -> None:
        watch = _Watch(self._session.runtime, None, timeout_s)
        which = _api.SOMA_LOGITS_ALL if all_logits else _api.SOMA_LOGITS_LAST
        watch.run(call, lib.soma_sequence_prefill, self._raw, *_ids(tokens), which, watch.raw)

    def decode(self, token: int) -> None:
        """Appends one token and computes its logits. A step is short: nothing cancels it."""
        one = (ctypes.c_void_p * 1)(self._raw.value)
        call(lib.soma_sequence_decode, one, *_ids([token]), None)

    def sample(self, **options: Any) -> int:
        settings = Options("generate", options)
        token = ctypes.c_int32()
        call(lib.soma_sequence_sample, self._raw, settings._raw, ctypes.byref(token))
        return token.value

    def logits(self) -> Tensor:
        return Tensor(make(lib.soma_sequence_logits, self._raw))

    def truncate(self, length: int) -> None:
        call(lib.soma_sequence_truncate, self._raw, length)

    def fork(self) -> "Sequence":
        return Sequence(self._session, make(lib.soma_sequence_fork, self._raw))

    def generate(self, prompt: Items[int], *, on_text: Callable[[str], Any] | None = None,
                 timeout_s: float | None = None, **options: Any) -> Generation:
        settings = Options("generate", options)
        watch = _Watch(self._session.runtime, None, timeout_s)

        def token_came(_user: Any, _token: int, text: bytes, length: int) -> int:
            def body() -> int:
                if on_text is not None and length:
                    if on_text(ctypes.string_at(text, length).decode()) is False:
                        return _api.SOMA_STOP
                return _api.SOMA_CONTINUE
            return watch.guarded(body)

        result = watch.run(facts, lib.soma_sequence_generate, self._raw, *_ids(prompt),
                           settings._raw, _api.soma_token_fn(token_came), None,
                           _api.soma_destroy_fn(), watch.raw)
        if watch.raised is not None:
            raise watch.raised
        return Generation(result["text"], result["tokens"], result["finish"], list(prompt),
                          result["prefill_s"], result["decode_s"], result["first_token_s"])
