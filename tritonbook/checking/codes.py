"""The findings of every check, a row for each code: what all who tell findings apart ask.

A page's own mistakes have codes of their own, which are not here: the names of its mutants.
"""

from __future__ import annotations

from dataclasses import dataclass

VALUES, MEMORY, LAUNCHES, TEXT, ORDER = "values", "memory", "launches", "text", "order"
CALL, GAP, COMPILING, SPEED, RULE, MACHINE = (
    "call",
    "gap",
    "compiling",
    "speed",
    "rule",
    "machine",
)


@dataclass(frozen=True)
class Code:
    """What kind of finding it is.

    about: one of the words above. sentence: what has happened, for whoever adds a page. place: it
    says where something is wrong, not why. seen: who sees it, "everywhere", in the "interpreter"
    or on a "gpu" alone. stops: further cases would only repeat it. address: an address may be off,
    so what is odd about the kernel's is told besides. meter: what the meter saw says more; "race":
    where it saw programs that race.
    """

    about: str
    sentence: str
    place: bool = False
    seen: str = "everywhere"
    stops: bool = False
    address: bool = False
    meter: bool | str = False


CODES = {
    # A call, and what it returns.
    "not-attempted": Code(GAP, "The gap is still open.", True, stops=True),
    "not-defined": Code(GAP, "The name stands for no function."),
    "raised": Code(CALL, "The call raised an error.", True),
    "should-raise": Code(CALL, "It did not raise the error that the case asks for.", True),
    "timeout": Code(CALL, "The call took too long.", True, stops=True),
    "crashed": Code(CALL, "The GPU stopped the kernel, or the process ended.", stops=True),
    "wrong-type": Code(CALL, "It returned something else than the tensors asked for.", True),
    "wrong-shape": Code(CALL, "A result has another shape.", True),
    "wrong-dtype": Code(CALL, "A result has another dtype.", True),
    "wrong-device": Code(CALL, "A result lies on another device."),
    "property": Code(RULE, "An assertion of the page's own failed.", True),
    "not-run": Code(MACHINE, "No case can run on this machine."),
    # The kernel's text, and what Triton makes of it.
    "no-source": Code(TEXT, "The kernel's text is in no cell or file."),
    "policy": Code(TEXT, "The kernel uses what is not Triton's language.", stops=True),
    "not-by-hand": Code(TEXT, "The kernel uses a function that the task rules out."),
    "truth-of-a-tile": Code(TEXT, "A tile is asked for one truth value.", stops=True),
    "not-interpreted": Code(TEXT, "Triton's interpreter does not know this operation."),
    "does-not-compile": Code(COMPILING, "Triton does not compile the kernel.", True, stops=True),
    "out-of-resources": Code(COMPILING, "A program needs more memory or threads than there are."),
    # Launches.
    "no-kernel-launched": Code(LAUNCHES, "No kernel of the learner's ran.", True, stops=True),
    "torch-compute": Code(LAUNCHES, "PyTorch does part of the work.", True),
    "copies": Code(LAUNCHES, "A tensor is copied first, where the task rules that out."),
    "wrong-launch-count": Code(LAUNCHES, "It launches more or fewer kernels than asked.", True),
    "other-programs": Code(LAUNCHES, "It starts another number of programs than asked.", True),
    "too-many-programs": Code(LAUNCHES, "It starts more programs than are enough.", True),
    "tile-too-large": Code(
        LAUNCHES, "A load or store takes more elements than asked.", True, "interpreter"
    ),
    "unshared-work": Code(
        LAUNCHES, "One program has most of the work of a launch.", seen="interpreter"
    ),
    "grid-limit": Code(LAUNCHES, "The grid is larger than every GPU allows along an axis."),
    "right-without-kernel": Code(LAUNCHES, "The result is right though the kernel does nothing."),
    "swallowed-error": Code(LAUNCHES, "A failed launch is hidden by a fallback."),
    # Memory.
    "out-of-bounds-store": Code(MEMORY, "A store goes outside its tensor.", True, address=True),
    "reads-unwritten": Code(
        MEMORY, "A kernel reads what nobody has written yet.", seen="interpreter"
    ),
    "race": Code(MEMORY, "Programs of a launch share a place.", True, "interpreter", address=True),
    "no-barrier": Code(MEMORY, "Lanes do not wait for each other's stores.", seen="interpreter"),
    "int32-offset": Code(MEMORY, "An offset wraps round at 2**31.", seen="interpreter"),
    "input-changed": Code(MEMORY, "An argument was changed.", True),
    "other-tensor": Code(MEMORY, "Another tensor than the one to change was returned."),
    "aliases-input": Code(MEMORY, "The result shares its memory with an input."),
    # Values, by what shows in them.
    "reads-outside": Code(
        VALUES, "The result depends on memory outside.", True, "interpreter", address=True
    ),
    "wrong-values": Code(VALUES, "Values are wrong.", True, address=True, meter=True),
    "nan": Code(VALUES, "NaN or infinity stands where a number is due.", True, meter=True),
    "nan-lost": Code(VALUES, "A number stands where NaN is due."),
    "overflow": Code(VALUES, "NaN or infinity comes of large inputs."),
    "zeros": Code(VALUES, "0 stands where something else is due.", True, meter="race"),
    "unwritten": Code(
        VALUES, "A part of the result was never written.", True, address=True, meter="race"
    ),
    "unwritten-tail": Code(
        VALUES, "The end of the result was never written.", True, address=True, meter="race"
    ),
    "wrong-tail": Code(VALUES, "Right up to a place, wrong from there on.", True, address=True),
    "rows-after-first": Code(
        VALUES, "Only the first row is right.", True, address=True, meter="race"
    ),
    "rows-moved": Code(VALUES, "Each row holds another row's result.", address=True),
    "row-added-twice": Code(VALUES, "The row's number gets into the address twice."),
    "first-for-all": Code(VALUES, "Each lane has the first number of an input."),
    "strided-only": Code(VALUES, "Right on contiguous tensors alone.", address=True),
    "transposed": Code(VALUES, "The result is transposed."),
    "constant-factor": Code(VALUES, "Right up to one factor.", meter=True),
    "constant-summand": Code(VALUES, "Right up to one summand.", True, meter=True),
    "off-by-an-input": Code(VALUES, "Right up to an input.", meter=True),
    "off-by-row": Code(VALUES, "Each row is right up to a number of its own.", meter=True),
    "off-by-column": Code(VALUES, "Each column is right up to a number of its own.", meter=True),
    "wrong-by-value": Code(VALUES, "Right for small or large inputs alone.", True, meter=True),
    "unused-input": Code(VALUES, "The result does not depend on an input."),
    "undue-input": Code(VALUES, "The result depends on an input that must not count."),
    "no-other": Code(VALUES, "Lanes that a mask switches off count.", seen="interpreter"),
    "half-digits": Code(VALUES, "A float32 result has the digits of half precision."),
    "other-bits": Code(VALUES, "Numbers that are only moved have other bits."),
    "not-repeatable": Code(VALUES, "The same call gives another result each time."),
    "changed-by-tries": Code(VALUES, "What a tuner tried changed what the call works on."),
    "second-call": Code(VALUES, "The first call is right, the next one wrong."),
    # Speed, and what the compiler made.
    "tf32": Code(SPEED, "float32 tiles are multiplied in TF32."),
    "float32-product": Code(SPEED, "Tiles are cast to float32 first.", seen="interpreter"),
    "slow": Code(SPEED, "It is right, and slower or more costly than asked."),
    # The simulators: the order of warps, copies and barriers, and of ranks.
    "deadlock": Code(ORDER, "All wait for each other.", seen="interpreter"),
    "unfinished": Code(ORDER, "A program ends before its copies.", seen="interpreter"),
    "early-read": Code(ORDER, "Something is read before it has come.", seen="interpreter"),
    "early-use": Code(ORDER, "A product is used before the wait for it.", seen="interpreter"),
    "operand": Code(ORDER, "A wait for a product does not name it.", seen="interpreter"),
    "overwritten": Code(ORDER, "Something is overwritten while in use.", seen="interpreter"),
    "two-writers": Code(ORDER, "Two write one place at a time.", seen="interpreter"),
    "no-fence": Code(ORDER, "A store misses its fence.", seen="interpreter"),
    "phase": Code(ORDER, "A wait names a phase that cannot be.", seen="interpreter"),
    "phase-twice": Code(ORDER, "A phase is waited for twice.", seen="interpreter"),
    "too-many-arrivals": Code(ORDER, "More arrive than are counted.", seen="interpreter"),
    "not-initialised": Code(ORDER, "A barrier is used before its init.", seen="interpreter"),
    "no-index": Code(ORDER, "Several barriers are taken for one.", seen="interpreter"),
    "outside": Code(ORDER, "A part or an address is none.", seen="interpreter"),
    "place": Code(ORDER, "A place has too few or too many numbers.", seen="interpreter"),
    "size": Code(ORDER, "Tiles have sizes that do not fit.", seen="interpreter"),
    "pred": Code(ORDER, "`pred` is no truth value.", seen="interpreter"),
    "warps": Code(ORDER, "A layout is for another number of warps.", seen="interpreter"),
    "constant": Code(ORDER, "A constant is known only as it runs.", seen="interpreter"),
    "arguments": Code(ORDER, "The arguments stand in another order.", seen="interpreter"),
    "not-gluon": Code(
        ORDER, "A function of Triton's is called in Gluon.", seen="interpreter", stops=True
    ),
}

# What a GPU shows of what the meter alone sees: whatever lies outside is in the result, and the
# order of programs that race.
_ON_GPU = {
    "reads-outside": tuple(
        name for name, code in CODES.items() if code.place and code.about == VALUES
    ),
    "race": ("not-repeatable",),
}


def about(code: str, *subjects: str) -> bool:
    """Whether a general finding is about one of these; a page's own mistake is not."""
    return code in CODES and CODES[code].about in subjects


def only_a_place(code: str) -> bool:
    return code in CODES and CODES[code].place


def stops(code: str) -> bool:
    return code in CODES and CODES[code].stops


def seen_on_gpu(code: str) -> bool:
    return code not in CODES or CODES[code].seen != "interpreter"


def instead_on_gpu(code: str) -> tuple[str, ...]:
    """What is found on a GPU, where no meter sees what gets this code."""
    return _ON_GPU.get(code, ())


def meter_says_more(code: str, astray: str) -> bool:
    """Whether what the meter found explains a finding better. astray: the code of that."""
    found = CODES[code].meter if code in CODES else False
    return found is True or (found == "race" and astray == "race")
