"""The page that `new` writes."""

from __future__ import annotations

from pathlib import Path

PAGE = '''\
# ---
# workbook:
#   title: {title}
#   minutes: 6
#   needs: interpreter
#   requires: []
#   limits: {{sm_75: no spills, sm_80: no spills}}
#   you_will:
#     - double a vector, one tile per program
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# One paragraph and a picture. What does one program do? Here 10 elements lie in tiles of 4.

# %%
from tritonbook import predict
from tritonbook.seeing.pictures import draw_tiling

draw_tiling(n=10, block=4)

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | any, contiguous | floating | input, never changed |
# | result | as `x` | as `x` | a new tensor, `2 x`, made in one launch |

# %% tags=["reference"]
def {name}_ref(x):
    return 2 * x

# %% [markdown]
# ## Task 1
#
# Fill the gap, about 2 lines. `tl.load` and `tl.store` take a tile of addresses, and a mask.

# %% tags=["answer"] key="{name}"
@triton.jit
def {name}_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = 2 x.

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # TODO: load the tile, double it, store it (about 2 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)

    tl.store(out_ptr + offs, 2 * x, mask=mask)
    ### END SOLUTION


def {name}(x):
    """2 x, for a contiguous tensor x."""
    if not x.is_contiguous():
        raise ValueError("x must be contiguous")
    out = torch.empty_like(x)
    n_elements = out.numel()
    grid = (triton.cdiv(n_elements, 256),)
    {name}_kernel[grid](x, out, n_elements, BLOCK_SIZE=256)
    return out

# %% [markdown] tags=["hint"] key="{name}"
# #### Hints for {name}
#
# <details><summary>Hint 1: a question</summary>
#
# Which elements does this program own?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tl.load` and `tl.store` both take `mask=`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# `x = tl.load(...)`, then `tl.store(...)`.
#
# </details>

# %% tags=["check"] key="{name}" points=2
check({name})

# %% [markdown]
# ## Predict, then measure

# %% tags=["predict"]
predict(
    {{"bytes that {name} moves for 1,000 float32 elements": None}},
    measured=[lambda: traffic({name}, torch.randn(1000, device=DEVICE))],
    hints=["One load and one store for each element. How many bytes has a float32?"],
)

# %% [markdown]
# <details><summary>Where the number comes from</summary>
#
# Each element is read once and written once: 2 × 1,000 × 4 bytes = 8,000.
#
# </details>

# %% [markdown]
# ## Recap
#
# What to remember, and what comes next.

# %%
progress()
'''

CASES = '''\
"""What the check of {slug} tries."""

from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import launches

from .page import {name}_ref

CHECKS = {{
    "{name}": Check(
        {name}_ref,
        cases=[
            case("one whole tile", x=tensor(1024)),
            case("a ragged tail", x=tensor(1000)),
            case("half precision", dtype="float16", x=tensor(300)),
            case("NaN and infinity", x=tensor(300, planted={{0: float("nan"), 7: float("inf")}})),
            case("not contiguous", x=tensor(8, 8, layout="transposed"), raises=ValueError),
        ],
        hidden=[
            case("a prime length", x=tensor(4099)),
            case("half precision, a prime length", dtype="float16", x=tensor(521)),
        ],
        asks=[launches(1)],
    ),
}}
'''

WRONG = '''\
"""Mistakes of {slug} with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant, usual

PROMISES = ("not-doubled",)  # what breaks each of `you_will`
MUTANTS = {{
    "{name}": [
        usual(),  # masks, grid, aliasing, dtype: what any page has
        Mutant("not-doubled", "offs, {{2 * x -> x}}, mask", says="This is x itself. Double it."),
        Mutant("squared", "offs, {{2 * x -> x * x}}, mask", says="This is x * x. Add x to itself."),
        Mutant("no-contiguous-check", "{{not x.is_contiguous() -> False}}", seen="should-raise"),
    ]
}}
VARIANTS = {{
    "{name}": [
        Variant("sum", "offs, {{2 * x -> x + x}}, mask"),
        Variant("small-tiles", "n_elements, {{256 -> 128}}),)", "BLOCK_SIZE={{256 -> 128}}"),
    ]
}}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {{
    "{name}": {{
        "x = tl.load(x_ptr + offs, mask=mask, other=0.0) => x = tl.load(x_ptr + offs, mask=mask)":
            "lanes behind the end are never stored",
        "x = tl.load(x_ptr + offs, mask=mask, other=0.0) => "
        "x = tl.load(x_ptr + offs, mask=mask, other=1.0)":
            "lanes behind the end are never stored",
    }}
}}
'''


def write_new(folder: Path, slug: str) -> list[Path]:
    """Write a template page, its cases and its mistakes; refuses to overwrite."""
    page, name = folder / slug, slug[3:]
    if page.exists():
        raise FileExistsError(f"{slug} exists already; choose another number or name")
    page.mkdir(parents=True)
    title = name.replace("_", " ").capitalize()
    texts = {
        page / "page.py": PAGE.format(title=title, name=name),
        page / "cases.py": CASES.format(slug=slug, name=name),
        page / "wrong.py": WRONG.format(slug=slug, name=name),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)
