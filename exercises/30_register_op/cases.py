"""What the checks of 30_register_op try: cases, references, and mistakes that have a name."""

from tritonbook.checking import Check, case

from .page import expected


def question(note, asked, shape=(6, 40), of="float32", layout="contiguous", only=None):
    """One case of the checks below."""
    return case(note, question=asked, shape=shape, of=of, layout=layout, only=only)


SENTENCES = {
    "returns-nothing": "The function registers, but returns no operator. Return it.",
    "no-kernel-launched": "The operator launched no kernel. It must call the given functions.",
    "input-changed": "The operator changed x.",
    "wrong-type": "The result is no tensor with the shape and dtype of x.",
    "wrong-values": "The operator gives other values than the formula. Are the arguments in order?",
    "fake-missing": "There is no fake. The compiler cannot know what the result looks like.",
    "fake-touches-data": "The fake reads data or launches a kernel. It may only allocate.",
    "fake-shape": "The fake result has another shape than the real one.",
    "fake-dtype": "The fake result has another dtype than the real one.",
    "fake-device": "The fake result is on another device than x. Take x's device.",
    "fake-strides": "For a transposed x the fake's strides differ from the real result's, which is "
    "contiguous.",
    "mutates-unsaid": "An argument is changed and the schema does not say so. `mutates_args` (in a "
    "schema text: `Tensor(a!)`) must name it.",
    "mutates-too-much": "The schema says that w is changed, and it is not. The compiler then "
    "copies it for nothing.",
    "aliases-input": "The operator returns memory of its input. An operator's result must be new, "
    "or the operator returns nothing.",
    "opcheck-autograd_registration": "opcheck: the gradient is not registered where it must be.",
    "opcheck-faketensor": "opcheck: with fake tensors the operator does not do what it does with "
    "real ones.",
    "opcheck-aot_dispatch_dynamic": "opcheck: compiled with dynamic shapes, the operator or its "
    "gradient fails or differs.",
    "graph-break": "torch.compile(fullgraph=True) cannot get through the operator.",
    "not-an-operator": "This is no operator of the namespace. Return the operator, not the "
    "function behind it.",
    "recompiles": "The function is compiled again for every number of rows. Something in the fake "
    "turns a size into a fixed number.",
    "already-registered": "A second call with the same namespace fails. Close the first library.",
    "wrong-dispatch-key": "The implementation must be registered for this machine's device, and "
    "for it only: a kernel compiled for a GPU must never get a CPU tensor.",
    "no-gradient": "The result does not require a gradient: no autograd formula is registered.",
    "backward-fails": "The backward raises an error. It returns one gradient for each input, None "
    "for eps, and needs what `setup_context` saved.",
    "wrong-gradient-x": "The gradient of x is wrong.",
    "wrong-gradient-w": "The gradient of w is wrong.",
    "backward-not-an-operator": "Forward and backward do not compile together. The backward must "
    "consist of operators too: launch no kernel there, call the backward's operator.",
    "returns-something": "An operator that changes its argument in place returns None here.",
    "kernel-not-seen": "The compiled graph shows no Triton kernel. Wrap the launch with "
    "`torch.library.wrap_triton`.",
}

SUSPECTS = {
    code: (lambda *asked, code=code: code, sentence) for code, sentence in SENTENCES.items()
}

LIBRARY_QUESTIONS = [
    question("right values", "values"),
    question("fake of a transposed x", "fake", layout="transposed"),
    question("registered for this device", "device"),
    question("torch.library.opcheck", "opcheck"),
    question("no graph break", "compile"),
    question("run the cell again", "again"),
]

HIDDEN_LIBRARY_QUESTIONS = [
    question("half precision", "values", shape=(3, 65), of="float16"),
    question("fake in half precision", "fake", shape=(3, 65), of="float16"),
    question("a transposed x", "values", shape=(5, 33), layout="transposed"),
    question("six sizes", "sizes"),
]

CUSTOM_QUESTIONS = [
    question("right values", "values"),
    question("fake of a transposed x", "fake", layout="transposed"),
    question("right gradients", "gradient"),
    question("no graph break", "compile"),
    question("forward and backward compiled", "training"),
    question("opcheck, gradients included", "opcheck with gradient"),
]

HIDDEN_CUSTOM_QUESTIONS = [
    question("fake in half precision", "fake", shape=(3, 65), of="float16"),
    question("gradients of a transposed x", "gradient", shape=(5, 33), layout="transposed"),
    question("six sizes", "sizes"),
    question("run the cell again", "again"),
]

INPLACE_QUESTIONS = [
    question("x holds the result", "values"),
    question("autograd notices the change", "version"),
    question("it claims to change nothing else", "only x"),
    question("the fake", "fake"),
    question("torch.library.opcheck", "opcheck"),
    question("compiled, the change is kept", "compile"),
]

HIDDEN_INPLACE_QUESTIONS = [
    question("a transposed x", "values", shape=(5, 33), layout="transposed"),
    question("half precision, compiled", "compile", shape=(3, 65), of="float16"),
]

TRITON_QUESTIONS = [
    question("right values", "values"),
    question("run the cell again", "again"),
    question("torch.library.opcheck", "opcheck", only="gpu"),
    question("no graph break", "compile", only="gpu"),
    question("the compiler sees the kernel", "kernel seen", only="gpu"),
]

HIDDEN_TRITON_QUESTIONS = [
    question("a transposed x", "values", shape=(5, 33), layout="transposed"),
    question("half precision", "values", shape=(3, 65), of="float16"),
    question("six sizes", "sizes", only="gpu"),
]

CHECKS = {
    "register_library": Check(
        expected,
        LIBRARY_QUESTIONS,
        HIDDEN_LIBRARY_QUESTIONS,
        through="library_says",
        triton=False,
        mistakes=SUSPECTS,
        timeout=120,
    ),
    "register_custom": Check(
        expected,
        CUSTOM_QUESTIONS,
        HIDDEN_CUSTOM_QUESTIONS,
        through="custom_says",
        triton=False,
        mistakes=SUSPECTS,
        timeout=120,
    ),
    "register_inplace": Check(
        expected,
        INPLACE_QUESTIONS,
        HIDDEN_INPLACE_QUESTIONS,
        through="inplace_says",
        triton=False,
        mistakes=SUSPECTS,
        timeout=120,
    ),
    "register_triton": Check(
        expected,
        TRITON_QUESTIONS,
        HIDDEN_TRITON_QUESTIONS,
        through="triton_says",
        triton=False,
        mistakes=SUSPECTS,
        timeout=120,
    ),
}
