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
from .player import COMPUTES, MOVES, Player, Stores, storages

SENTENCE = (
    "The result is right even when the kernel does nothing, so the kernel does not compute it."
)


class Replay:
    """What a call comes to without its launches. Made before the call is played: of its arguments
    as they were, on memory of its own, poisoned where nothing writes."""

    def __init__(self, player: Player, reply: dict[str, Any], constants: list[bytes]):
        self.tensors = Copies(player.tensors)
        twin = Player(player.launcher, player.cell_of_file)
        twin.mute, twin.tensors = True, self.tensors
        with _disable_current_modes(), Watch():
            twin.play(reply.get("steps"), constants)
            self.result: Any = decode(reply.get("result"), twin.resolve)


class Proof:
    """What was seen of each function, over all of its calls."""

    def __init__(self) -> None:
        self._idle: set[str] = set()
        self.left_to_torch = False
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


class Copies(dict[int, torch.Tensor]):
    """Tensors by number, copied from `source` when they are first asked for; views of one memory
    stay so. byte: what their memory holds, in place of what it held."""

    def __init__(self, source: dict[int, torch.Tensor], byte: int | None = None):
        super().__init__()
        self._source, self._byte = source, byte
        self._memo: dict[int, Any] = {}
        self.copied: set[int] = set()
        self.homes: set[int] = set()  # addresses of their memory

    def __contains__(self, number: object) -> bool:
        return super().__contains__(number) or number in self._source

    def __missing__(self, number: int) -> torch.Tensor:
        with _disable_current_modes():
            made = copy.deepcopy(self._source[number].detach(), self._memo)
            storage = made.untyped_storage()
            if self._byte is not None and storage.data_ptr() not in self.homes:
                torch.empty(0, dtype=torch.uint8, device=made.device).set_(storage).fill_(
                    self._byte
                )
        self[number] = made
        self.homes.add(storage.data_ptr())
        self.copied.add(number)
        return self[number]


def moves(steps: Any) -> bool:
    """Whether torch moves values in a call."""
    return any(step[0] == "torch" and _base(step[1]) in MOVES for step in steps)


def left_to_torch(
    player: Player, before: dict[int, torch.Tensor], reply: dict[str, Any],
    constants: list[bytes], stores: list[Stores],
) -> bool:  # fmt: skip
    """Whether elements of a call's result are ones that torch moved there from what was given, and
    no kernel stored to. before: the tensors that there were. stores: of each launch.

    The call is played twice with other bytes in what was given, and launches that store always the
    same: what then differs has not come from a kernel.
    """
    found = []
    for byte in (0x3C, 0x3D):
        twin = _Traced(player, before, byte, stores)
        with _disable_current_modes(), Watch():
            twin.play(reply.get("steps"), constants)
            made = _tensors(decode(reply.get("result"), twin.resolve))
        found.append([t for t in made if t.untyped_storage().data_ptr() not in twin.tensors.homes])
    pairs = zip(*found, strict=True)
    with _disable_current_modes():
        return not all(same_bits(one, other) for one, other in pairs)


class _Traced(Player):
    """Plays a call of which only matters what torch moves."""

    mute = True

    def __init__(
        self, player: Player, before: dict[int, torch.Tensor], byte: int, stores: list[Stores]
    ):
        super().__init__(player.launcher, player.cell_of_file)
        self.tensors: Copies = Copies(before, byte)
        self._stores = iter(stores)

    def operated(self, name: str, result: Any) -> Any:
        if _base(name) in COMPUTES:  # where a check allows that, it is right to
            for tensor in _tensors(result):
                tensor.zero_()
        return result

    def muted(self, arguments: list[Any], options: dict[str, Any]) -> None:
        for storage, marks in zip(storages(arguments, options), next(self._stores), strict=True):
            memory = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
            memory[torch.from_numpy(marks).bool()] = 0


def _base(name: str) -> str:
    return name.removeprefix("aten::").partition(".")[0]


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
