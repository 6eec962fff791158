"""Make docs/card.png and card.zh.png, the READMEs' pictures: python docs/picture.py (needs Chromium
and a font with Chinese characters).

A wrong answer of notebook 00 really runs through its check, and the right one through show_tiles.
What they display is put on a page and photographed.
"""

import subprocess
import tempfile
from pathlib import Path

import torch

from tritonbook import show_tiles, words
from tritonbook.checking import run_check
from tritonbook.checking.card import as_html
from tritonbook.course.exercises import get, load
from tritonbook.course.mutants import wrong_answers
from tritonbook.course.page_checks import checks

HERE = Path(__file__).resolve().parent
MUTANT = "no-store-mask"
SIZES = {"en": (950, 745), "zh": (950, 775)}

exercise = get("00_start_here")
wrong = wrong_answers(exercise)
mutant = next(each for each in wrong.mutants["add_one"] if each.name == MUTANT)
module = load(exercise, {"add_one": wrong.text("add_one", mutant)})
report = run_check(module.add_one, checks(exercise)["add_one"], "add_one")
style = "body{margin:16px;background:#fff;color:#1f2328;font:14px system-ui,sans-serif}"
with tempfile.TemporaryDirectory() as folder:
    page = Path(folder) / "page.html"
    for lang, (wide, high) in SIZES.items():
        with words.speaking(lang):
            tiles = show_tiles(load(exercise).add_one, torch.arange(10.0))
            body = as_html(report) + tiles.svg
        page.write_text(f'<meta charset="utf-8"><style>{style}</style>{body}', encoding="utf-8")
        picture = HERE / ("card.png" if lang == "en" else f"card.{lang}.png")
        command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars"]
        command += [f"--window-size={wide},{high}", f"--screenshot={picture}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
