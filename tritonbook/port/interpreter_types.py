"""Triton's interpreter asks the same of its types at every value: here it asks once.

A check of one answer makes ten thousand tiles. For each of them the interpreter makes a new type,
checks that its sizes are powers of two, wraps each size as a constant and looks up numpy's name of
the dtype. The answers depend on the type alone, and a course knows some dozens of types: keeping
them takes a third off the time of a check (all of 13 and 20: 2.3 s of processor time instead of
3.4 s, Triton 3.7). What a kernel computes does not change.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any


def keep_types(interp: Any) -> None:
    """Install all of it. interp: the module `triton.runtime.interpreter`."""
    import triton.language.core as core

    _one_block_type_of_a_kind(core)
    _shape_of_a_tensor_from_its_type(core)
    _numpy_dtype_by_name(interp)
    _search_for_builtins_once(interp, core)
    _arguments_stay_on_the_host(interp)


def _one_block_type_of_a_kind(core: Any) -> None:
    """`block_type(float32, [64])` is the same object each time; nobody changes a type."""
    kind = core.block_type
    initialise, unwrap = kind.__init__, core._unwrap_if_constexpr
    known: dict[Any, Any] = {}
    whole = {int}

    def make(cls: type, *args: Any, **kwargs: Any) -> Any:
        if cls is not kind or len(args) != 2:
            return object.__new__(cls)
        element, shape = args
        try:
            # A pointer's name leaves out its address space.
            space = getattr(element, "address_space", None)
            sizes = shape if type(shape) is tuple else (*shape,)
            if not whole.issuperset(map(type, sizes)):
                sizes = (*map(unwrap, sizes),)
                if not whole.issuperset(map(type, sizes)):  # 64.0 would find the type of 64
                    return object.__new__(cls)
            key = (element.name, space, sizes)
            found = known.get(key)
        except (AttributeError, TypeError):  # no type, no sizes: `initialise` says so
            return object.__new__(cls)
        if found is None:
            found = object.__new__(cls)
            initialise(found, element, shape)
            known[key] = found
        return found

    def set_up(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is not kind or "name" not in vars(self):
            initialise(self, *args, **kwargs)

    kind.__new__, kind.__init__ = make, set_up


def _shape_of_a_tensor_from_its_type(core: Any) -> None:
    initialise = core.tensor.__init__

    def set_up(self: Any, handle: Any, type: Any) -> None:
        known = vars(type).get("_of_its_tensors")
        if known is None:
            initialise(self, handle, type)
            if isinstance(self.shape, list):  # Triton 3.2: a list could be changed
                return
            known = {name: value for name, value in vars(self).items() if value is not handle}
            type._of_its_tensors = known
        else:
            self.__dict__.update(known)
            self.handle = handle

    core.tensor.__init__ = set_up


def _numpy_dtype_by_name(interp: Any) -> None:
    original = interp._get_np_dtype
    known: dict[str, Any] = {}

    def numpy_dtype(type: Any) -> Any:
        found = known.get(type.name)
        if found is None:
            found = known[type.name] = original(type)
        return found

    interp._get_np_dtype = numpy_dtype


def _search_for_builtins_once(interp: Any, core: Any) -> None:
    """Each launch looks through all of `triton.language` for what it has to replace."""

    @functools.cache
    def builtins_of(owner: Any) -> list[str]:
        return [name for name, _ in inspect.getmembers(owner, core.is_builtin)]

    def patch_builtin(owner: Any, *rest: Any) -> None:
        for name in builtins_of(owner):
            if core.is_builtin(member := getattr(owner, name)):  # it is not replaced yet
                interp._patch_attr(owner, name, member, *rest)

    interp._patch_builtin = patch_builtin


def _arguments_stay_on_the_host(interp: Any) -> None:
    """A launch makes a second tensor of each argument in the same memory, copies that memory to
    itself afterwards, and keeps it until Python looks for circles."""
    executor = interp.GridExecutor
    take, give_back = executor._init_args_hst, executor._restore_args_dev

    def on_the_host(value: Any) -> bool:
        tensor = getattr(value, "base", value)  # a descriptor's
        plain = not isinstance(value, tuple) and not hasattr(value, "data_ptr")
        return getattr(tensor, "is_cpu", plain)

    def init(self: Any, arguments: Any, named: Any) -> Any:
        if all(map(on_the_host, (*arguments, *named.values()))):
            return arguments, named
        return take(self, arguments, named)

    def restore(self: Any, arguments: Any, taken: Any, named: Any, named_taken: Any) -> None:
        if taken is not arguments:
            give_back(self, arguments, taken, named, named_taken)

    executor._init_args_hst, executor._restore_args_dev = init, restore
