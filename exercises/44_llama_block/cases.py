"""What the checks of 44_llama_block try: cases, references, and mistakes that have a name."""

import torch

from tritonbook import DEVICE, hook_launch
from tritonbook.checking import Check, Tolerance, case, tensor

from .page import EPS, block_ref, flash_gqa, rmsnorm, rope, silu_mul

PRODUCTS = ("mm", "addmm", "bmm", "matmul", "linear", "add", "add_", "addmm_")


def _making(mistake):
    return lambda *arguments: block_ref(*arguments, mistake=mistake)


SENTENCES = {
    "norms-swapped": "The weights of the two norms have changed places.",
    "norm-weights-missing": "The norms are not multiplied by their weights.",
    "gate-and-up-swapped": "w_gate and w_up have changed places.",
    "keys-and-values-swapped": "Keys and values have changed places: w_qkv holds q, k, v.",
    "rope-missing": "Queries and keys are not turned by their positions.",
    "rope-on-values": "Values are turned by RoPE. Only queries and keys are.",
    "not-causal": "Tokens see those that come after them.",
    "attention-residual-missing": "The input is not added to the result of attention.",
    "mlp-residual-missing": "What went into the MLP's half is not added to its result.",
    "mlp-residual-of-the-input": "The MLP's half adds x. It has to add what attention gave.",
    "residual-of-the-norm": "The normalised values are added. Add the values as they came in.",
    "mlp-on-the-input": "The MLP reads x. It has to read what attention gave.",
    "second-norm-missing": "The MLP's half does not normalise.",
}

SUSPECTS = {code: (_making(code), sentence) for code, sentence in SENTENCES.items()}


def close_enough(dtype):
    """Five roundings to the dtype on the way, in float32 the sums of five products."""
    step = {torch.float16: 2.0**-8, torch.bfloat16: 2.0**-5}.get(dtype, 1e-4)
    return Tolerance(step, of_row_max=step, absolute=step / 100, because="roundings between parts")


def block_arguments(B, L, D=32, F=48, heads=4, kv_heads=2, size=16, positions=None):
    """Specs of all arguments; weights keep the size of what they multiply."""
    wide = (heads + 2 * kv_heads) * size
    angles = {"cos": tensor(positions or L, size // 2), "sin": tensor(positions or L, size // 2)}
    return {
        "x": tensor(B, L, D),
        "norm_attn": tensor(D, mean=1.0, scale=0.5),
        "w_qkv": tensor(D, wide, scale=D**-0.5),
        "w_o": tensor(heads * size, D, scale=(heads * size) ** -0.5),
        "norm_mlp": tensor(D, mean=1.0, scale=0.5),
        "w_gate": tensor(D, F, scale=D**-0.5),
        "w_up": tensor(D, F, scale=D**-0.5, layout="transposed"),
        "w_down": tensor(F, D, scale=F**-0.5),
        **angles,
        "heads": heads,
        "kv_heads": kv_heads,
    }


def launched_by(call):
    """Names of the kernels that `call` launches, and its result."""
    names = []

    def around(launch, fn, grid, args, kwargs):
        names.append(fn.__name__)
        return launch()

    with hook_launch(around):
        return set(names), call()


def each_part_counts(fn):
    """Every kernel that was launched is needed, and each of the four parts launched one."""
    shapes = [(32,), (32, 128), (64, 32), (32,), (32, 48), (32, 48), (48, 32)]
    weights = [torch.randn(*shape, device=DEVICE) * shape[0] ** -0.5 for shape in shapes]
    x, (cos, sin) = torch.randn(1, 5, 32, device=DEVICE), torch.randn(2, 5, 8, device=DEVICE)
    arguments = (x, *weights, cos, sin, 4, 2)
    names, right = launched_by(lambda: fn(*arguments))
    if not names:
        return  # launched in another process: its own proof stands there
    q, k = torch.randn(1, 4, 5, 16, device=DEVICE), torch.randn(1, 2, 5, 16, device=DEVICE)
    parts = {
        "rmsnorm": lambda: rmsnorm(x, weights[0], EPS),
        "rope": lambda: rope(q, k, cos, sin),
        "flash_gqa": lambda: flash_gqa(q, k, k, True),
        "silu_mul": lambda: silu_mul(x[0], x[0] + 1),
    }
    for part, call in parts.items():
        assert names & launched_by(call)[0], f"No kernel of {part} was launched."
    for name in sorted(names):

        def mute(launch, kernel, grid, args, kwargs, name=name):
            return None if kernel.__name__ == name else launch()

        with hook_launch(mute):
            assert not torch.allclose(fn(*arguments), right), f"{name} does nothing for the result."


CASES = [
    case("two batches", **block_arguments(2, 6)),
    case("an odd length, equal heads", **block_arguments(1, 19, heads=2, kv_heads=2)),
    case("one token", **block_arguments(3, 1)),
    case("half precision", dtype="float16", **block_arguments(1, 9)),
]

HIDDEN_CASES = [
    case("eight heads share two", **block_arguments(1, 7, heads=8, kv_heads=2)),
    case("odd widths", **block_arguments(2, 5, D=40, F=70)),
    case("wide tables", **block_arguments(1, 4, positions=9)),
    case("more tokens", dtype="float16", **block_arguments(1, 33, heads=2, kv_heads=1)),
]


def decode_ref(*arguments):
    return block_ref(*arguments[:-1])


DECODE_SUSPECTS = {
    code: (lambda *a, wrong=wrong: wrong(*a[:-1]), sentence)
    for code, (wrong, sentence) in SUSPECTS.items()
}

COPIES = (*PRODUCTS, "copy_", "cat")

DECODE_CASES = [
    case("token by token", **block_arguments(1, 4), prefill=1),
    case("three at once, then two", **block_arguments(2, 5), prefill=3),
]

HIDDEN_DECODE_CASES = [
    case("all at once", **block_arguments(1, 6), prefill=6),
    case(
        "a longer text, half precision",
        dtype="float16",
        **block_arguments(1, 20, heads=2, kv_heads=1),
        prefill=18,
    ),
]


def gradients_ref(x, dy, *rest):
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_() for t in (x, *rest[:7])]
        y = block_ref(*leaves, *rest[7:])
        return y.detach(), *torch.autograd.grad(y, leaves, dy)


def gradients_close(dtype):
    usual = close_enough(dtype)
    return Tolerance(4 * usual.relative, 4 * usual.of_row_max, usual.relative, usual.because)


def training_case(note, B, L, dtype="float32", **sizes):
    arguments = block_arguments(B, L, **sizes)
    x = arguments.pop("x")
    return case(note, dtype=dtype, x=x, dy=tensor(B, L, x.shape[2]), **arguments)


TRAINING = (*PRODUCTS, "t", "cat", "copy_", "slice_backward", "split_with_sizes_backward")

TRAINING_CASES = [
    training_case("two batches", 2, 5),
    training_case("an odd length", 1, 18, heads=2, kv_heads=1),
]

HIDDEN_TRAINING_CASES = [
    training_case("one token", 2, 1),
    training_case("odd widths, eight heads share two", 1, 6, D=40, F=70, heads=8),
]

CHECKS = {
    "llama_block": Check(
        block_ref,
        CASES,
        HIDDEN_CASES,
        allow=PRODUCTS,
        tolerance=close_enough,
        mistakes=SUSPECTS,
        also=[each_part_counts],
    ),
    "llama_decode": Check(
        decode_ref,
        DECODE_CASES,
        HIDDEN_DECODE_CASES,
        allow=COPIES,
        tolerance=close_enough,
        mistakes=DECODE_SUSPECTS,
    ),
    "llama_train": Check(
        gradients_ref,
        TRAINING_CASES,
        HIDDEN_TRAINING_CASES,
        through="block_gradients",
        allow=TRAINING,
        tolerance=gradients_close,
    ),
}
