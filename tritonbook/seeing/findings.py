"""What the meter's record shows to be wrong: lanes outside their tensor, programs that race."""

from __future__ import annotations

import ast
import linecache
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ..words import later
from .record import Access, Launched, Record
from .regions import Region


@dataclass
class Touch:
    """The active lanes of one access that belong to one tensor."""

    access: Access
    region: Region | None  # None: memory of no known tensor
    elements: np.ndarray  # row-major element numbers, -1 for lanes outside the tensor
    addresses: np.ndarray
    lanes: np.ndarray  # positions in the access


def resolve(record: Record) -> list[Touch]:
    """Attribute every active lane of every access to a tensor, in order of time.

    An access whose lanes are all masked has one touch, of nothing.
    """
    regions = record.regions
    touches = []
    for access in record.accesses:
        lanes = np.arange(access.addresses.size)
        if access.mask is not None:
            lanes = lanes[access.mask]
        for region in regions:
            addresses = access.addresses[lanes]
            mine = region.holds(addresses, access.itemsize)
            if not mine.any():
                continue
            elements = region.elements(addresses[mine])
            for sibling in regions:  # views of one storage: any of them may hold the lane
                if sibling is region or sibling.start != region.start or (elements >= 0).all():
                    continue
                other = sibling.elements(addresses[mine])
                if (other >= 0).sum() > (elements >= 0).sum():
                    region, elements = sibling, other
            touches.append(Touch(access, region, elements, addresses[mine], lanes[mine]))
            lanes = lanes[~mine]
        if lanes.size or not access.active.size:  # all lanes are masked: they touch nothing
            missing = np.full(lanes.size, -1)
            touches.append(Touch(access, None, missing, access.addresses[lanes], lanes))
    return touches


def find(record: Record, masking_helps: Callable[[], bool] | None = None) -> list[tuple[str, str]]:
    """(code, sentence) for out-of-bounds-store, reads-outside, race; worst first.

    masking_helps: finds out whether the result is right where lanes without an element are
    harmless.
    """
    touches = resolve(record)
    stray = [t for t in touches if (t.elements < 0).any()]
    helps = bool(stray and masking_helps and masking_helps())
    found = []
    for kinds, code in ((("store", "atomic"), "out-of-bounds-store"), (("load",), "reads-outside")):
        bad = [t for t in stray if t.access.kind in kinds]
        if bad:
            found.append((code, _outside(record, touches, bad, helps)))
    race = _race(record, touches)
    return [*found, ("race", race)] if race else found


def reads_unwritten(record: Record, blank: dict[int, np.ndarray]) -> str:
    """The first load or update of what nobody had written yet.

    blank: by the address of a tensor's first element, which of its elements hold nothing.
    """
    blank = {address: left.copy() for address, left in blank.items()}
    touches = resolve(record)
    for number, touch in enumerate(touches):
        left = blank.get(touch.region.first) if touch.region is not None else None
        if left is None:
            continue
        elements, launch = touch.elements[touch.elements >= 0], record.launches[touch.access.launch]
        early = elements[left[elements]]
        if touch.access.kind != "store" and early.size:
            does, mend = {
                "load": (
                    later("reads"),
                    "Is another tensor meant, or has an earlier launch to write it?",
                ),
                "atomic": (later("updates"), "Begin with `torch.zeros`."),
            }[touch.access.kind]
            if launch.together and _stored_later(touches[number:], int(early[0])):
                mend = (
                    "A program of this launch stores it later. Are these the places meant? Then "
                    "its stores come first, then the wait for all who store, at the counter that "
                    "they share, then this load."
                )
            return (
                f"Program {program_text(touch.access.program, launch)} of `{launch.kernel}` {does} "
                f"{cell_text(touch.region, int(early[0]))} of `{touch.region.name}`"
                f"{_line(launch, touch.access.line)}, and nothing was written there before: it "
                f"holds what the memory held. {mend}"
            )
        left[elements] = False
    return ""


def misdirected(record: Record, outputs: set[int], inputs: set[str]) -> str:
    """The first store to an input, in a call that stores to no output.

    outputs: the addresses of their first elements; inputs: by their names.
    """
    touches = [t for t in resolve(record) if t.access.kind != "load" and t.region is not None]
    if not outputs or any(t.region.first in outputs for t in touches):
        return ""
    for touch in touches:
        if touch.region.name in inputs and touch.lanes.size:
            launch = record.launches[touch.access.launch]
            return (
                f"`{launch.kernel}` stores to the input `{touch.region.name}`"
                f"{_line(launch, touch.access.line)}, and nothing to the result. Is another "
                "pointer meant there, or do the launch's arguments stand in another order?"
            )
    return ""


def crowded(record: Record, blank: dict[int, np.ndarray]) -> str:
    """The first store of which several lanes go to one place, in a tensor in which others stay
    empty. blank: as for `reads_unwritten`.
    """
    touches = resolve(record)
    left = {address: empty.copy() for address, empty in blank.items()}
    stores = [t for t in touches if t.access.kind == "store" and t.region is not None]
    for touch in stores:
        if touch.region.first in left:
            left[touch.region.first][touch.elements[touch.elements >= 0]] = False
    for touch in stores:
        places, lanes = np.unique(touch.elements[touch.elements >= 0], return_counts=True)
        if not (left.get(touch.region.first, _NONE).any() and (lanes > 1).any()):
            continue
        launch, at = record.launches[touch.access.launch], int(lanes.argmax())
        return (
            f"{lanes[at]} lanes of program {program_text(touch.access.program, launch)} of "
            f"`{launch.kernel}` store to the same place, {cell_text(touch.region, places[at])} of "
            f"`{touch.region.name}`{_line(launch, touch.access.line)}: one of them stays, and "
            "other places hold nothing. Look at what makes the lanes' addresses differ."
        )
    return ""


_NONE = np.zeros(0, dtype=bool)


def _stored_later(touches: list[Touch], element: int) -> bool:
    """Whether the launch of the first of them stores this element of its tensor, too."""
    first = touches[0]
    return any(
        touch.access.kind == "store"
        and touch.access.launch == first.access.launch
        and touch.region is first.region
        and element in touch.elements
        for touch in touches
    )


def float32_products(launches: Iterable[Launched]) -> list[tuple[str, str]]:
    """(code, sentence) of each launch that multiplied two float32 tiles; for half inputs."""
    return [
        (
            "float32-product",
            f"`{launch.kernel}` multiplies two float32 tiles{_line(launch, launch.float32_dot)}, "
            "though their numbers came in half precision. Tensor cores take tiles of that dtype: "
            "leave out a cast to float32 before tl.dot, or cast back.",
        )
        for launch in launches
        if launch.float32_dot is not None
    ]


def program_text(program: tuple[int, int, int], launch: Launched) -> str:
    """`2` in a one-dimensional grid, `(2, 0)` in a two-dimensional one."""
    used = program[: launch.rank]
    return str(used[0]) if len(used) == 1 else f"({', '.join(map(str, used))})"


def _outside(record: Record, touches: list[Touch], bad: list[Touch], masking_helps: bool) -> str:
    first = bad[0]
    launch = record.launches[first.access.launch]
    lanes = int((first.elements < 0).sum())
    verbs = {"load": later("reads"), "store": later("writes"), "atomic": later("updates")}
    verb = verbs[first.access.kind]
    program = program_text(first.access.program, launch)
    where, place = _place(record, first, _meant(touches, first))
    with_lanes = f" with {lanes} lanes" if lanes > 1 else " with 1 lane"
    if first.access.addresses.size == 1:
        with_lanes = ""
    programs = len({t.access.program for t in bad})
    do_so = f" ({programs} programs do so)" if programs > 1 else ""
    line = _line(launch, first.access.line)
    text = (
        f"Program {program} of `{launch.kernel}` {verb} outside {where}{place}{with_lanes}{do_so}"
        f"{line}."
    )
    masked, one = first.access.has_mask, place == " (up to 1 element past its end)"
    if first.access.through in _THROUGH:
        mend = _THROUGH[first.access.through][masked or not masking_helps]
    elif masked and _LOOSE.search(linecache.getline(launch.file, first.access.line)):
        mend = "`&` binds tighter than a comparison: put each comparison of the mask in brackets."
    elif first.access.addresses.size == 1 and all(map(_before_the_start, bad)):
        mend = (
            "An index below 0 is an address too: is a number that was loaded negative, or is "
            "too much subtracted?"
        )
    elif first.access.addresses.size == 1:
        mend = "Is the address off, the tensor too small, or are there more programs than elements?"
    elif masking_helps and not masked and len(_at_this_line(record, first.access)) > 1:
        mend = "Those lanes need a mask, or the loop takes a step too many, or too long a one."
    elif masking_helps and not masked:
        mend = "Those lanes need a mask."
    elif masking_helps and one:
        mend = "Its mask lets one lane too many through. Is it `<=` where `<` is meant?"
    elif masked and all(map(_before_the_start, bad)):
        mend = "An index below 0 is an address too. "
        mend += (
            "Let the mask ask for `>= 0` as well."
            if masking_helps
            else f"Let the mask ask for `>= 0` as well, {_EITHER}."
        )
    elif masked and (early := _mask_of_before(launch, first.access.line)):
        mend = (
            f"Its mask `{early}` is made once, before the loop, and the offsets move on in each "
            "step. Make the mask in the loop."
        )
    elif masking_helps and all(_at_this_line(record, t.access)[0] is not t.access for t in bad):
        mend = (
            "Its mask lets them through, but not the first time that the program comes to this "
            "line. In a function, is it the mask of another call? In a loop, does it test the "
            "index that moves, as far as it has moved by then? Is it made of what a load gave, "
            "whose masked lanes hold just what it asks for?"
        )
    elif masking_helps and bool((first.elements >= 0).any()):
        mend = "Its mask lets them through: test each index against its own size, with `<`."
    else:
        mend = _MASK_OR_ADDRESS[masked]
    return f"{text} {mend}"


_PART = r"\w+(?:\[[^\]]*\])?"  # of a mask, such as `offs_d[None, :]`
_LOOSE = re.compile(rf"mask=\s*{_PART} & {_PART} *[<>]")


def _before_the_start(touch: Touch) -> bool:
    outside = touch.addresses[touch.elements < 0]
    return touch.region is not None and bool((outside < touch.region.first).all())


def _mask_of_before(launch: Launched, line: int) -> str:
    """The mask of an access in a loop, where that loop moves its offsets and not the mask."""
    try:
        tree = ast.parse("".join(linecache.getlines(launch.file)))
    except SyntaxError:
        return ""
    loops = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.For, ast.While)) and node.lineno < line <= (node.end_lineno or 0)
    ]
    if not loops:
        return ""
    inner = list(ast.walk(max(loops, key=lambda loop: loop.lineno)))
    moved = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for call in inner:
        if not (isinstance(call, ast.Call) and call.lineno <= line <= (call.end_lineno or 0)):
            continue
        masks = [each.value for each in call.keywords if each.arg == "mask"]
        if not (masks and isinstance(masks[0], ast.Name) and masks[0].id not in moved):
            continue
        if moved & {n.id for n in ast.walk(call.args[0]) if isinstance(n, ast.Name)}:
            return masks[0].id
    return ""


def _at_this_line(record: Record, access: Access) -> list[Access]:
    """Those of the same program, in order; several where the line stands in a loop."""
    same = (access.launch, access.program, access.line)
    return [a for a in record.accesses if (a.launch, a.program, a.line) == same]


_EITHER = (
    "or the address is off: a number that is added twice or not multiplied, a step too long, a "
    "stride of another tensor, tensors in another order at the launch"
)
_MASK_OR_ADDRESS = {
    False: f"It has no mask. Either it needs one, {_EITHER}.",
    True: f"Its mask lets them through. Either it is not the mask of these elements, {_EITHER}.",
}


# For what makes the addresses: where bounds that nobody tests are all, and else.
_THROUGH = {
    "tensor_pointer": {
        False: "Those lanes need `boundary_check=`, with the axes along which a block may end "
        "beyond its tensor: `boundary_check=(0, 1)`.",
        True: "Either an axis is missing in its `boundary_check=`, or a size, a stride or an "
        "offset of `tl.make_block_ptr` is off, or what `tl.advance` adds.",
    },
    "descriptor": dict.fromkeys(
        (False, True),
        "A descriptor keeps to the sizes and strides that it was made with: these are not the "
        "tensor's.",
    ),
}


def nearest(regions: list[Region], addresses: np.ndarray) -> Region | None:
    """The tensor that one of the addresses is closest to; None where there is no tensor."""
    return min(regions, key=lambda r: int(np.abs(r.distance(addresses)).min()), default=None)


def _meant(touches: list[Touch], stray: Touch) -> Region | None:
    """The tensor in which the other lanes of a stray one's line lie: far outside of it, another may
    be nearer."""
    lanes: dict[int, int] = defaultdict(int)
    for touch in touches:
        same = touch.access.launch == stray.access.launch and touch.access.line == stray.access.line
        if same and touch.region is not None:
            lanes[id(touch.region)] += int((touch.elements >= 0).sum())
    if not lanes or lanes.get(id(stray.region)):
        return None
    most = max(lanes, key=lambda each: lanes[each])
    return next(t.region for t in touches if id(t.region) == most) if lanes[most] else None


def _place(record: Record, touch: Touch, meant: Region | None) -> tuple[str, str]:
    """ "`x`" and " (up to 3 elements past its end)", from the tensor that is meant, where that is
    known, or the nearest."""
    outside = touch.addresses[touch.elements < 0]
    region = meant or touch.region
    if region is None:
        region = nearest(record.regions, outside)
        if region is None or np.abs(region.distance(outside)).min() > 1 << 24:
            return "every tensor of this call", ""
        if not region.size:  # all of these have one address, 0
            return "a tensor that has no element", ""
    distance, name = region.distance(outside), f"`{region.name}`"
    if (far := distance.max()) > 0:
        end = f" (up to {far} elements past its end)"
        return name, end if far > 1 else " (up to 1 element past its end)"
    if (far := -distance.min()) > 0:
        start = f" (up to {far} elements before its start)"
        return name, start if far > 1 else " (up to 1 element before its start)"
    return name, " (in the gap between its rows)"


def code_text(launch: Launched, line: int) -> str:
    """ "`a line of the kernel`", or "" where it is unknown."""
    text = linecache.getline(launch.file, line).strip() if line else ""
    return f"`{text if len(text) <= 70 else text[:67] + '...'}`" if text else ""


def _line(launch: Launched, line: int) -> str:
    text = code_text(launch, line)
    return f" at {text}" if text else ""


def _race(record: Record, touches: list[Touch]) -> str:
    """The first address that two programs of one launch use in a way that depends on order."""
    by_launch: dict[int, list[Touch]] = defaultdict(list)
    for touch in touches:
        if touch.region is not None:
            by_launch[touch.access.launch].append(touch)
    for number, group in by_launch.items():
        launch = record.launches[number]
        if launch.locks:
            continue
        atomics = any(t.access.kind == "atomic" for t in group)
        for region in {id(t.region): t.region for t in group}.values():
            mine = [t for t in group if t.region is region]
            text = _race_in(launch, region, mine, atomics, group)
            if text:
                return text
    return ""


def _race_in(
    launch: Launched, region: Region, touches: list[Touch], atomics: bool, group: list[Touch]
) -> str:
    """touches: those of the region. group: those of the launch."""
    owner = np.full(max(region.size, 1), -1, dtype=np.int64)
    shared = np.zeros(max(region.size, 1), dtype=bool)
    for touch in touches:
        if touch.access.kind != "store":
            continue
        elements = touch.elements[touch.elements >= 0]
        me = np.ravel_multi_index(touch.access.program, launch.grid)
        shared[elements[(owner[elements] >= 0) & (owner[elements] != me)]] = True
        owner[elements] = me
    if shared.any():
        count = int(shared.sum())
        cells = f"{count} elements" if count > 1 else later("1 element")
        same = _axis_without_effect(launch, group)
        look = (
            "Look at how the program's number gets into that address: do tiles overlap? A store "
            "replaces what another program stored; it does not add."
            if same is None
            else f"The first two programs along axis {same} of the grid touch the same addresses: "
            f"does `tl.program_id({same})` get into them?"
        )
        return (
            f"Several programs of `{launch.kernel}` store to the same {cells} of `{region.name}` "
            f"(first: {cell_text(region, int(np.flatnonzero(shared)[0]))}). They run at the same "
            f"time on a GPU, so the result depends on luck. {look}"
        )
    if atomics:  # programs may wait for each other through a counter
        return ""
    for touch in touches:
        elements = touch.elements[touch.elements >= 0]
        if touch.access.kind == "load" and elements.size:
            me = np.ravel_multi_index(touch.access.program, launch.grid)
            foreign = (owner[elements] >= 0) & (owner[elements] != me)
            if foreign.any():
                element = int(elements[foreign][0])
                wait = "Let the programs wait for each other before this load."
                mend = wait if launch.together else "Use a second launch."
                return (
                    f"Program {program_text(touch.access.program, launch)} of `{launch.kernel}` "
                    f"reads {cell_text(region, element)} of `{region.name}`, which another program "
                    f"of the same launch writes. Which comes first is luck. {mend}"
                )
    return ""


def _axis_without_effect(launch: Launched, touches: list[Touch]) -> int | None:
    """An axis of the grid whose first two programs do the same."""

    def addresses(program: tuple[int, ...]) -> list[list[int]]:
        return [t.addresses.tolist() for t in touches if t.access.program == program]

    for axis, size in enumerate(launch.grid):
        second = tuple(int(axis == each) for each in range(3))
        if size > 1 and addresses((0, 0, 0)) == addresses(second):
            return axis
    return None


def cell_text(region: Region, element: int) -> str:
    """`[3, 7]` for a row-major element number."""
    return f"[{', '.join(str(int(i)) for i in np.unravel_index(element, region.shape))}]"
