"""What the pages of the clinic share: a cause is named first, and judged last."""

import torch

from tritonbook.checking import Check, case, tensor
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


RIGHT = None  # in a table of what speaks against each cause: this is the one


def patient(reference, cases, hidden, against, asks=(), first=(), then=(), **how):
    """{key: Check} of the patient that `<key>_ref` is the reference of; its page has a function
    `<key>_cause` beside the answer.

    against: for each name of the page's table what speaks against it, or RIGHT.
    asks: what the task asks for besides. first: further assertions before the cases; then: after
    them, before the cause is judged. how: the rest of the Check.
    """
    key = reference.__name__.removesuffix("_ref")
    (cause,) = (name for name, text in against.items() if text is RIGHT)

    def named(fn, say):
        try:
            said = say()
        except NameError as error:
            raise AssertionError(
                f'`{key}_cause` returns a text. Put quotes around it: "{error.name}".'
            ) from None
        assert said in against, (
            f"`{key}_cause` returns {said!r}, which is no name of the table of causes. They are: "
            f"{', '.join(sorted(against))}."
        )

    def judged(fn, say):
        said = say()
        told = later(f"The kernel is mended. But {said!r} is not what ailed it:")
        assert said == cause, f"{told} {against[said]}"

    before, after = [named, *first], [*then, judged]
    asks = [*map(at_first, before), *asks, *after, *map(on_hidden, after)]
    return {key: Check(reference, cases, hidden, beside=(f"{key}_cause",), asks=asks, **how)}
