"""Cases are data: shapes, dtypes, layout, distribution, seed. Nothing here runs a kernel."""

from __future__ import annotations

import contextvars
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from .guard import fresh

LAYOUTS = ("contiguous", "strided", "offset", "transposed", "expanded", "apart", "spaced")
KINDS = ("normal", "uniform", "positive", "negative", "zeros", "ones", "rising", "falling")
DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int64": torch.int64,
    "int32": torch.int32,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
}

# A grader mixes its own secret into every seed, so that a public repository gives nothing away.
seed_secret: contextvars.ContextVar[str] = contextvars.ContextVar("seed_secret", default="")
# The GPU test sweep runs the same cases in another dtype.
dtype_override: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    "dtype_override", default=None
)

Sampler = Callable[[torch.Generator, tuple[int, ...]], torch.Tensor]


@dataclass(frozen=True)
class TensorSpec:
    """What one tensor argument looks like; `sample` draws its values.

    dtype: name such as "float16" (default: the case's dtype).
    layout: "contiguous"; "strided" (rows padded, or every second element in 1-D); "offset"
    (starts one element past an aligned address); "transposed" (last two dimensions swapped in
    memory); "expanded" (stride 0 in dimension 0); "apart" (rows a tile and more apart);
    "spaced" (every second element).
    values: "normal", "uniform" (-1 to 1), "positive", "negative", "zeros", "ones", "rising",
    "falling" (sorted along the last dimension), "integers" (low to high - 1), or a function
    (generator, shape) -> float64 tensor. mean and scale apply to the drawn values; planted puts
    single values at given indices afterwards (in an expanded tensor at index 0 of dimension 0,
    which stands for all of them).
    Raises ValueError for an unknown layout, kind of values or dtype, and for an index that is not
    there.
    """

    shape: tuple[int, ...]
    dtype: str | None = None
    layout: str = "contiguous"
    values: str | Sampler = "normal"
    mean: float = 0.0
    scale: float = 1.0
    planted: dict[Any, float] = field(default_factory=dict)
    low: int = 0
    high: int = 10

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise ValueError(f"layout {self.layout!r} is none of {', '.join(LAYOUTS)}")
        if not callable(self.values) and self.values not in (*KINDS, "integers"):
            raise ValueError(f"values {self.values!r} is none of {', '.join(KINDS)}, integers")
        if self.dtype is not None and self.dtype not in DTYPES:
            raise ValueError(f"dtype {self.dtype!r} is none of {', '.join(DTYPES)}")
        if self.layout == "expanded" and any(index[0] for index in self.planted):
            raise ValueError("an expanded tensor has one row in memory: plant at index 0 there")
        for index in self.planted:
            try:
                np.broadcast_to(0.0, self.shape)[index]  # no memory, however large
            except IndexError as error:
                size = "x".join(map(str, self.shape))
                raise ValueError(f"a tensor of {size} has no {index} to plant at") from error

    def plain(self) -> bool:
        """Are the values such that every dtype holds them?"""
        known = isinstance(self.values, str)
        return known and not self.planted and (self.mean, self.scale) == (0.0, 1.0)

    def describe(self, default_dtype: str) -> str:
        size = "x".join(map(str, self.shape)) or "scalar"
        parts = [size, self.dtype or default_dtype]
        if self.layout != "contiguous":
            parts.append(self.layout)
        return " ".join(parts)

    def sample(self, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
        """Values of this tensor: shape `shape`, contiguous on the CPU, already rounded to dtype."""
        shape = self.shape
        if self.layout == "expanded":
            shape = (1, *self.shape[1:])
        drawn = self._draw(generator, shape).to(torch.float64)
        for index, value in self.planted.items():
            drawn[index] = value
        if self.layout == "expanded":  # in memory all of dimension 0 is one, planted values too
            drawn = drawn.expand(self.shape).contiguous()
        return drawn.to(dtype)

    def _draw(self, generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
        if callable(self.values):
            return self.values(generator, shape)
        if self.values == "integers":
            return torch.randint(self.low, self.high, shape, generator=generator)
        if self.values in ("zeros", "ones"):
            drawn = torch.full(shape, float(self.values == "ones"), dtype=torch.float64)
        elif self.values == "uniform":
            drawn = torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
        else:
            drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        if self.values in ("positive", "negative"):
            drawn = drawn.abs() + 0.1
        if self.values == "negative":
            drawn = -drawn
        if self.values in ("rising", "falling") and drawn.ndim:
            drawn = drawn.sort(dim=-1, descending=self.values == "falling").values
        return drawn * self.scale + self.mean


def _brief(value: Any) -> str:
    """Long lists are only counted: the card has one line for a case."""
    text = str(value)
    return text if len(text) <= 60 else f"{type(value).__name__}[{len(value)}]"


def tensor(*shape: int, **described: Any) -> TensorSpec:
    """One tensor argument of a case: its sizes, then by name what `TensorSpec` says of it."""
    return TensorSpec(shape, **described)


@dataclass(frozen=True)
class Case:
    """One call of the learner's function: arguments in order, and what is expected of it."""

    note: str
    arguments: dict[str, Any]
    dtype: str = "float32"
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    raises: type[BaseException] | None = None
    only: str | None = None

    def effective_dtype(self) -> str:
        """The override's, unless values are made for the case's own (large, planted, drawn) or it
        is about two dtypes: a tensor of half precision beside others."""
        other = dtype_override.get()
        half = ("float16", "bfloat16")
        plain = all(spec.plain() and spec.dtype not in half for spec in self.specs().values())
        return other if other and plain else self.dtype

    def describe(self) -> str:
        """Shapes, dtypes and options on one line, for the card."""
        shown = []
        for name, value in self.arguments.items():
            if isinstance(value, TensorSpec):
                shown.append(f"{name} {value.describe(self.effective_dtype())}")
            else:
                shown.append(f"{name}={_brief(value)}")
        shown += [f"{name}={value}" for name, value in self.options.items()]
        return ", ".join(shown)

    def filled(self, tensors: dict[str, Any]) -> list[Any]:
        """The arguments in call order, with these tensors in their places."""
        return [tensors.get(name, value) for name, value in self.arguments.items()]

    def specs(self) -> dict[str, TensorSpec]:
        return {k: v for k, v in self.arguments.items() if isinstance(v, TensorSpec)}

    def with_layout(self, layout: str) -> Case:
        """The same case with every tensor in `layout`."""
        laid = {name: replace(spec, layout=layout) for name, spec in self.specs().items()}
        return replace(self, arguments=self.arguments | laid)

    def rows(self) -> int:
        """Rows of the first tensor, where that is a matrix; 0: it is none."""
        first = next(iter(self.specs().values()), None)
        return first.shape[0] if first and len(first.shape) == 2 else 0

    def with_rows(self, count: int) -> Case:
        """The same with so many rows in each tensor that has as many as the first, of zeros."""
        tall = {
            name: TensorSpec((count, *spec.shape[1:]), spec.dtype, values="zeros")
            for name, spec in self.specs().items()
            if spec.shape[:1] == (self.rows(),)
        }
        return replace(self, arguments=self.arguments | tall)

    def sample(self, draw: int = 0) -> dict[str, torch.Tensor]:
        """Fresh values for every tensor argument; another `draw` gives other values."""
        found = {}
        for position, (name, spec) in enumerate(self.specs().items()):
            text = f"{seed_secret.get()}|{self.seed}|{position}|{draw}"
            digest = hashlib.sha256(text.encode()).digest()
            generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))
            dtype = DTYPES[spec.dtype or self.effective_dtype()]
            found[name] = spec.sample(generator, dtype)
        return found


def case(
    note: str,
    *,
    dtype: str = "float32",
    seed: int = 0,
    options: dict[str, Any] | None = None,
    raises: type[BaseException] | None = None,
    only: str | None = None,
    **arguments: Any,
) -> Case:
    """One case of a check: a note for the card, then the arguments in call order.

    Tensors are described by `tensor(...)`; anything else is passed as it is. options: keyword
    arguments for the learner's function alone (tuning knobs that the reference does not take).
    raises: the exception that the function must raise. only: "gpu" or "interpreter".
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype {dtype!r} is none of {', '.join(DTYPES)}")
    if only not in (None, "gpu", "interpreter"):
        raise ValueError(f"only={only!r} must be 'gpu', 'interpreter' or None")
    return Case(note, arguments, dtype, seed, dict(options or {}), raises, only)


def elements(case: Case) -> int:
    """How many elements the tensors of a case have in all."""
    return sum(torch.Size(spec.shape).numel() for spec in case.specs().values())


def arguments(case: Case, device: str = "cpu") -> list[Any]:
    """The arguments of a case in call order, its tensors drawn and on `device`: nobody else holds
    them."""
    drawn = {name: value.to(device) for name, value in case.sample().items()}
    return [fresh(value) for value in case.filled(drawn)]
