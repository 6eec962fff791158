"""Do the kernels make the result? Each tape is played once more, without them.

A call in which kernels do nothing, made as a call of its own, comes at some place in the order, and
a candidate that counts its calls can behave there. Here there is no such call: what is played
without its launches is the very tape that earned the result.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from tritonbook.checking.guard import bits, same_bits
from tritonbook.checking.launches import Watch

from ..walls.tape import decode
from .player import Player

SENTENCE = (
    "The result is right even when the kernel does nothing, so the kernel does not compute it."
)


class Replay:
    """What a call comes to without its launches. Made before the call is played: of its arguments
    as they were, on memory of its own, poisoned where nothing writes."""

    def __init__(self, player: Player, reply: dict[str, Any], constants: list[bytes]):
        self.tensors = _Copies(player.tensors)
        with _disable_current_modes(), Watch():
            twin = Player(player.launcher, player.cell_of_file, mute=True)
            twin.tensors = self.tensors
            twin.play(reply.get("steps"), constants)
            self.result: Any = decode(reply.get("result"), twin.resolve)


class Proof:
    """What was seen of each function, over all of its calls."""

    def __init__(self) -> None:
        self._idle: set[str] = set()
        self._computes: set[str] = set()

    def note(
        self, name: str, given: dict[int, torch.Tensor], result: Any, replay: Replay | None
    ) -> None:
        """A call that was played. given: its argument tensors, by number, as they are now."""
        if replay is None:
            return
        with _disable_current_modes():
            used = {n: tensor for n, tensor in given.items() if n in replay.tensors.copied}
            before = [replay.tensors[n] for n in used]
            made = _tensors(result) + _tensors([*used.values()])
            without = _tensors(replay.result) + _tensors(before)
            if len(made) == len(without) and all(map(same_bits, made, without)):
                # One value throughout may be what the memory was filled with: that tells nothing.
                if not all(map(_is_constant, _tensors(result) or made)):
                    self._idle.add(name)
            elif name not in self._computes and not all(_is_moved(t, before) for t in made):
                self._computes.add(name)

    def idle(self) -> str | None:
        """A function that does without its kernels, in one call or more.

        Where other calls of it compute something, such a call proves nothing: its data may be one
        that the work leaves as it is. What only moves values, such as a copy, has no such data.
        """
        return min(self._idle - self._computes, default=None)


class _Copies(dict[int, torch.Tensor]):
    """Tensors by number, copied from `source` when they are first asked for; views of one memory
    stay so."""

    def __init__(self, source: dict[int, torch.Tensor]):
        super().__init__()
        self._source = source
        self._memo: dict[int, Any] = {}
        self.copied: set[int] = set()

    def __contains__(self, number: object) -> bool:
        return super().__contains__(number) or number in self._source

    def __missing__(self, number: int) -> torch.Tensor:
        with _disable_current_modes():
            self[number] = copy.deepcopy(self._source[number].detach(), self._memo)
        self.copied.add(number)
        return self[number]


def _tensors(result: Any) -> list[torch.Tensor]:
    """The tensors with elements in a result."""
    found = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return [tensor.detach() for tensor in found if tensor.numel()]


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return bits(tensor.detach().contiguous()).reshape(-1)


def _is_constant(tensor: torch.Tensor) -> bool:
    values = _flat(tensor)
    return bool((values == values[0]).all())


def _is_moved(tensor: torch.Tensor, sources: Any) -> bool:
    """Whether each element's bits occur in some source of the same dtype."""
    found = [_flat(source) for source in sources if source.dtype == tensor.dtype]
    return bool(found) and bool(torch.isin(_flat(tensor), torch.cat(found)).all())
