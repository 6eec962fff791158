"""What the pages of the clinic share: a cause is named first, and judged last."""

import torch

from tritonbook.checking import case, tensor
from tritonbook.checking.asks import at_first, on_hidden
from tritonbook.words import later


def drawn(note, *shape, name="x", dtype="float32", raises=None, options=None, also=None, **how):
    """A case of one tensor: its name and how it is drawn. also: arguments behind it."""
    arguments = {name: tensor(*shape, **how), **(also or {})}
    return case(note, dtype=dtype, raises=raises, options=options, **arguments)


def listed(result):
    """A result as numbers; what is no tensor as it is."""
    return result.tolist() if isinstance(result, torch.Tensor) else result


# Of many patients: what speaks against causes of a slow kernel.
AGAINST_SLOWNESS = {
    "recompilation": "the constants were the same at every call.",
    "host waits": "the wrapper launches and returns. Nothing is read.",
    "spills": "`facts` said that nothing spills.",
    "no tensor cores": "nothing is multiplied as a matrix.",
    "masked loop": "hardly a lane was masked.",
    "float64": "all numbers were float32.",
    "uncoalesced": "all loads were vectors.",
    "many launches": "there was one launch.",
}


def diagnosis(key, cause, against, asks=(), first=(), then=()):
    """Options of a patient's Check, whose page has a function `<key>_cause` beside the answer.

    cause: the right name. against: for each other name of the page's table what speaks against it;
    what it says of the right name is left out.
    asks: what the task asks for besides. first: further assertions before the cases; then: after
    them, before the cause is judged.
    """
    known = {cause, *against}

    def named(fn, say):
        try:
            said = say()
        except NameError as error:
            raise AssertionError(
                f'`{key}_cause` returns a text. Put quotes around it: "{error.name}".'
            ) from None
        assert said in known, (
            f"`{key}_cause` returns {said!r}, which is no name of the table of causes. They are: "
            f"{', '.join(sorted(known))}."
        )

    def judged(fn, say):
        said = say()
        told = later(f"The kernel is mended. But {said!r} is not what ailed it:")
        assert said == cause, f"{told} {against[said]}"

    before, after = [named, *first], [*then, judged]
    return {
        "beside": (f"{key}_cause",),
        "asks": [*map(at_first, before), *asks, *after, *map(on_hidden, after)],
    }
