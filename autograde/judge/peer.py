"""The checker's end of the line: functions that stand for the student's, in another process."""

from __future__ import annotations

import itertools
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes, is_in_torch_dispatch_mode

from tritonbook.checking.launches import hear, is_heard
from tritonbook.course.exercises import LENT_FILE
from tritonbook.language.allowed import Refused
from tritonbook.limits import CheckTimeout
from tritonbook.port.tuners import asked_for
from tritonbook.simulating import are_ranks_watched, hear_of_ranks
from tritonbook.words import later

from ..walls.tape import TapeError, decode, describe, encode, raw
from ..walls.wire import Line, PeerGone, PeerSlow, ProcessEnded, WireError
from .lending import Lending
from .player import Launcher, LaunchFailed, LaunchRecord, Player, tensor_from
from .proof import Proof, Replay, left_to_torch, moves
from .replies import not_followed, rebuilt, returned, run_callback
from .work import Outcome

_TUNED = "tuned "  # before the likeness of a call in which a tuner tried configs
KEPT_ARGUMENTS = 32  # latest tensor arguments that both sides still know in later calls


class _Raised(Exception):
    """The student's function raised `error`."""

    def __init__(self, error: BaseException):
        super().__init__(str(error))
        self.error = error


class Peer:
    """Sends calls to the candidate, one at a time, and plays or decodes what comes back.

    cells: (name, text) of the code cells that the candidate runs. launcher: carries out their
    kernels.
    call_seconds: limit of one call; all cells together may take three times as long.
    lent: what the course lends to these cells.
    """

    def __init__(
        self,
        line: Line,
        cells: list[tuple[str, str]],
        launcher: Launcher,
        call_seconds: float,
        lent: Lending,
    ):
        self.line = line
        self.call_seconds = call_seconds
        self.cells = cells
        self._names = {name for name, _ in cells}
        self._lent = lent
        self.launcher = launcher
        self.player = Player(launcher, self._cell_of_file)
        self.proof = Proof()
        self._launched: dict[str, dict[str, list[LaunchRecord]]] = {}  # by function and likeness
        self.wanted_gradients = False  # a check asked for what a tape cannot carry
        self._trouble: Outcome | None = None
        self.refused: Refused | None = None
        self.cell_errors: dict[str, dict[str, Any]] = {}
        self._numbers: OrderedDict[tuple[Any, ...], int] = OrderedDict()  # latest used last
        self._homes: dict[tuple[int, int], int] = {}
        self._count = itertools.count(1)

    def _cell_of_file(self, file: str) -> str | None:
        """The cell, or the module of the course, that a kernel's file is; None: neither."""
        stem = file.rpartition("/")[2].removesuffix(".py")
        if stem in self._names:
            return stem
        function = stem.removeprefix(LENT_FILE)
        if function == stem or function not in self._lent.texts:
            return None
        if function not in self._lent.borrowed:
            raise Refused(
                "no-kernel-launched",
                later(
                    f"The kernel is the workbook's, lent with {function}: this task asks for one "
                    "of yours."
                ),
            )
        self.launcher.library.add_module(stem, self._lent.texts[function])
        return stem

    @property
    def trouble(self) -> Outcome | None:
        """Why one of the two processes is listened to no more."""
        return self._trouble or self.launcher.trouble

    def run_cells(self) -> None:
        """Let the candidate run the notebook's cells. Errors in them are its own affair."""
        # A cell that does not end costs itself, not the cells after it.
        body = {"do": "cells", "cells": self.cells, "cell_seconds": self.call_seconds / 3}
        body["lent"] = self._lent.texts
        reply, _ = self._ask(body, [], [], 3 * self.call_seconds)
        errors = reply.get("errors")
        self.cell_errors = errors if isinstance(errors, dict) else {}

    def function(self, name: str, on_tape: bool) -> Callable[..., Any]:
        """A function that calls `name` in the candidate."""

        def proxy(*args: Any, **kwargs: Any) -> Any:
            return (self._call_on_tape if on_tape else self._call_values)(name, args, kwargs)

        proxy.__name__ = proxy.__qualname__ = name
        return proxy

    def launched(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[LaunchRecord]:
        """What the latest call like this one launched, and each variant that only others did, with
        tensors of these dtypes: a flag may stand for half precision.

        No call is made for it: what is compiled is what was judged.
        """
        calls = self._launched.get(name, {})
        like = _likeness(args, kwargs)
        # What a tuner has tried when it met such a call is what may be compiled in its place.
        found = list(calls.get(_TUNED + like) or calls.get(like) or ())
        known = {launch.variant for launch in found}
        dtypes = set[torch.dtype]().union(*(launch.dtypes for launch in found))
        for launch in itertools.chain(*calls.values()):
            alike = not found or launch.dtypes <= dtypes
            if alike and launch.variant not in known:
                known.add(launch.variant)
                found.append(launch)
        return found

    # --- calls

    def _call_on_tape(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        told, given, callbacks = _told(args, kwargs)
        body = {"do": "tape", "function": name, **told}
        body["tensors"] = [self._described(value) for value in given]
        try:
            result = self._play(body, callbacks, None)
        except LaunchFailed as failure:
            # In a notebook the wrapper would have met this error, and might have swallowed it.
            try:
                self._play(body, callbacks, failure.number)
            except (LaunchFailed, _Raised):
                raise failure.error from failure.error.__cause__  # what the kernel raised
            self.refused = self.refused or Refused("swallowed-error", _SWALLOWED)
            raise self.refused from None
        except _Raised as raised:
            raise raised.error from None
        calls, like = self._launched.setdefault(name, {}), _likeness(args, kwargs)
        calls[like] = self.player.launched
        if any(launch.instead for launch in self.player.launched):
            calls[_TUNED + like] = self.player.launched
        return result

    def _play(
        self, body: dict[str, Any], callbacks: list[Callable[..., Any]], fail_at: int | None
    ) -> Any:
        """One call on tape, played. Raises LaunchFailed, _Raised, Refused."""
        more = {"gone": self._forget_old(), "fail_at": fail_at, "config": asked_for()}
        reply, buffers = self._ask(body | more, [], callbacks)
        try:
            replay = self._replay(reply, buffers)
            carried_out = self.launcher.carried_out
            before = dict(self.player.tensors)
            self.launcher.stores = [] if replay and moves(reply["steps"]) else None
            self.player.play(reply.get("steps"), buffers)
            if "raised" in reply:
                raise _Raised(rebuilt(reply["raised"]))
            result = decode(reply.get("result"), self.player.resolve)
            # Fewer, where the check itself kept them from running.
            if self.launcher.carried_out - carried_out == len(self.player.launched) > 0:
                numbers = (tensor["number"] for tensor in body["tensors"])
                given = {number: self.player.tensors[number] for number in numbers}
                self.proof.note(body["function"], given, result, replay)
                if stores := self.launcher.stores:
                    traced = left_to_torch(self.player, before, reply, buffers, stores)
                    self.proof.left_to_torch |= traced
            return result
        except TapeError as error:
            raise self._broken(str(error)) from None
        except Refused as refusal:
            self.refused = self.refused or refusal
            raise

    def _replay(self, reply: dict[str, Any], buffers: list[bytes]) -> Replay | None:
        """The same call without its launches; None where it fails, as the call itself then does,
        and where nobody watches the call: it may be timed."""
        if not is_in_torch_dispatch_mode():
            return None
        try:
            return Replay(self.player, reply, buffers)
        except Exception:  # noqa: BLE001
            return None

    def _call_values(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        told, given, callbacks = _told(args, kwargs)
        body = {"do": "values", "function": name, **told}
        body["watched"] = is_in_torch_dispatch_mode() or is_heard() or are_ranks_watched()
        dense = [value.detach().cpu().contiguous() for value in given]
        body["tensors"] = [
            describe(value) | {"storage": number} for number, value in enumerate(dense)
        ]
        reply, buffers = self._ask(body, [raw(value) for value in dense], callbacks)
        try:
            count = reply.get("arguments")
            if count != len(given) or len(buffers) < len(given):
                raise TapeError("the arguments did not come back")
            kept = buffers[len(buffers) - len(given) :]
            for value, data, old in zip(given, kept, dense, strict=True):
                value.copy_(tensor_from(describe(old), data))
            if "raised" in reply:
                raise rebuilt(reply["raised"])
            _show(reply.get("largest"), given)
            _tell(reply, given)
            return decode(reply.get("result"), lambda data: returned(data, buffers))
        except TapeError as error:
            raise self._broken(str(error)) from None

    def _ask(
        self,
        body: dict[str, Any],
        buffers: list[bytes],
        callbacks: list[Callable[..., Any]],
        seconds: float | None = None,
    ) -> tuple[dict[str, Any], list[bytes]]:
        seconds = seconds or self.call_seconds
        if self.trouble is not None:
            raise _ended(self.trouble)
        try:
            self.line.send(body, buffers, seconds)
            while True:
                message = self.line.receive(seconds)
                if "callback" not in message.body:
                    return message.body, message.buffers
                self.line.send(run_callback(message.body, callbacks), (), self.call_seconds)
        except (PeerSlow, CheckTimeout) as late:
            seconds = getattr(late, "seconds", 0.0) or seconds  # the check's own limit is shorter
            sentence = later(f"Your code gave no answer within {seconds:g} s. Does every loop end?")
            self._trouble = Outcome("TIMEOUT", "timeout", sentence)
        except PeerGone:
            sentence = later(
                "The process ended while your code ran: does it call os._exit, or crash in a "
                "library?"
            )
            self._trouble = Outcome("CRASH", "crashed", sentence)
        except (WireError, TapeError) as error:
            raise self._broken(str(error)) from None
        raise _ended(self._trouble)

    def _broken(self, problem: str) -> BaseException:
        """The candidate sent what its program never sends: stop listening."""
        self._trouble = Outcome("POLICY", "policy", not_followed(problem))
        self.line.close()
        return ProcessEnded(self._trouble.sentence)

    # --- which of our tensors the candidate has stand-ins for

    def _described(self, value: torch.Tensor) -> dict[str, Any]:
        self.wanted_gradients |= value.requires_grad
        with _disable_current_modes():
            storage = value.untyped_storage()
            description = describe(value)
            address = storage.data_ptr()
            size = storage.nbytes()
        place = (address, size)
        if place not in self._homes:
            self._homes[place] = -next(self._count)
        key = (place, *map(str, description.values()))
        if key not in self._numbers:
            self._numbers[key] = -next(self._count)
        self._numbers.move_to_end(key)
        number = self._numbers[key]
        self.player.tensors[number] = value
        return description | {"number": number, "storage": self._homes[place], "bytes": size}

    def _forget_old(self) -> dict[str, list[int]]:
        """Let go of arguments of calls long past; the candidate drops their stand-ins."""
        gone: dict[str, list[int]] = {"numbers": [], "storages": []}
        while len(self._numbers) > KEPT_ARGUMENTS:
            (place, *_), number = self._numbers.popitem(last=False)
            self.player.tensors.pop(number, None)
            gone["numbers"].append(number)
            if all(other != place for other, *_ in self._numbers):
                gone["storages"].append(self._homes.pop(place))
        return gone


_SWALLOWED = (
    "A kernel launch failed and the function returned all the same. Let the error through: no "
    "fallback."
)


def _told(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], list[torch.Tensor], list[Callable[..., Any]]]:
    """The arguments of a call as JSON, and the tensors and functions that it numbers."""
    tensors: list[torch.Tensor] = []
    callbacks: list[Callable[..., Any]] = []

    def reference(value: Any) -> dict[str, Any]:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
            return {"t": len(tensors) - 1}
        if callable(value) and not isinstance(value, type):
            callbacks.append(value)
            return {"callback": len(callbacks) - 1}
        raise TypeError(f"a {type(value).__name__} cannot be passed to a submission")

    told = {"args": encode(list(args), reference), "kwargs": encode(kwargs, reference)}
    return told, tensors, callbacks


def _likeness(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What two calls have in common where shapes, dtypes and plain arguments are the same."""
    told, tensors, _ = _told(args, kwargs)
    return json.dumps([told, [[list(each.shape), str(each.dtype)] for each in tensors]])


def _ended(trouble: Outcome) -> BaseException:
    kind = CheckTimeout if trouble.status == "TIMEOUT" else ProcessEnded
    return kind(trouble.sentence)


def _tell(reply: dict[str, Any], given: list[torch.Tensor]) -> None:
    """Let whoever watches several ranks hear what the candidate saw of them: of the arguments, as
    if these had been ours. Its word is worth as much as in `_show`."""
    try:
        hear(reply.get("launches"), reply.get("copies"))
        loads = [
            (rank, [given[number].data_ptr() + offset for offset in offsets])
            for rank, number, offsets in reply["loads"]
            if given[number].is_contiguous()  # else its copy lies otherwise
        ]
        hear_of_ranks(reply.get("flags"), reply.get("foreign"), loads)
    except (TypeError, ValueError, LookupError) as error:
        raise TapeError(f"what was seen of ranks: {error}") from None


def _show(elements: Any, given: list[torch.Tensor]) -> None:
    """Make a tensor as large as the candidate's largest, without memory.

    A check may watch through a dispatch mode how large a tensor an answer makes on its way. The
    candidate's word is all there is, and it is worth what it costs: the values must be right too.
    """
    if not isinstance(elements, int) or not 0 <= elements < 2**48:
        raise TapeError("the size of the largest tensor is not a size")
    if elements > max((value.numel() for value in given), default=0):
        torch.empty(elements, device="meta")
