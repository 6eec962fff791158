"""The set-up cell that every notebook shares, and the page that `new` writes."""

from __future__ import annotations

from pathlib import Path

SETUP = """\
from tritonbook import DEVICE, bench, check, facts, mine, pictures, progress
from tritonbook import reference, setup, show_cases, show_tiles, traffic

import torch
import triton
import triton.language as tl

setup()"""

PAGE = '''\
# ---
# workbook:
#   title: {title}
#   minutes: 40
#   needs: interpreter
#   requires: []
#   limits: {{sm_75: no spills, sm_80: no spills}}
#   you_will:
#     - double a vector, one tile per program
# ---

# %% [markdown]
# ## The idea
#
# One paragraph and a picture. What does one program do?

# %% tags=["setup"]
{setup}

# %% [markdown]
# ## Contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | `(n,)` | floating | input |
# | result | `(n,)` | as `x` | $2x$ |

# %% tags=["reference"]
def {name}_ref(x):
    return 2 * x

# %% [markdown]
# ## Task 1
#
# Fill the gap (about 3 lines).

# %% tags=["answer"] key="{name}"
@triton.jit
def {name}_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = 2 x; one program = one tile; x and out are contiguous."""
    pid = tl.program_id(0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # TODO: load the tile, double it, store it
    ### BEGIN SOLUTION
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, 2 * x, mask=mask)
    ### END SOLUTION


def {name}(x):
    out = torch.empty_like(x)
    n_elements = x.numel()
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
# ## Recap
#
# What to remember, and what comes next.

# %%
progress()
'''

CASES = '''\
"""What the check of {slug} tries."""

from tritonbook.checking import Check, case, tensor

from .page import {name}_ref

CHECKS = {{
    "{name}": Check(
        {name}_ref,
        cases=[
            case("one whole tile", x=tensor(1024)),
            case("a ragged tail", x=tensor(1000)),
        ],
        hidden=[case("a prime length", x=tensor(4099))],
    ),
}}
'''

WRONG = '''\
"""Wrong answers and honest variants of {slug}."""

from tritonbook.course.mutants import Mutant, Variant

MUTANTS = {{
    "{name}": [
        Mutant("no_doubling", "constant-factor", ("2 * x, mask", "x, mask")),
        Mutant("no_store_mask", "out-of-bounds-store", ("2 * x, mask=mask", "2 * x")),
    ]
}}
VARIANTS = {{"{name}": [Variant("add", ("2 * x", "x + x"))]}}
'''


def write_new(folder: Path, slug: str) -> list[Path]:
    """Write a template page, its cases and its wrong answers; refuses to overwrite."""
    page, name = folder / slug, slug[3:]
    if page.exists():
        raise FileExistsError(f"{slug} exists already; choose another number or name")
    page.mkdir(parents=True)
    title = name.replace("_", " ").capitalize()
    texts = {
        page / "page.py": PAGE.format(title=title, name=name, setup=SETUP),
        page / "cases.py": CASES.format(slug=slug, name=name),
        page / "wrong.py": WRONG.format(slug=slug, name=name),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)
