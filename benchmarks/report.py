"""`python -m benchmarks.report`: a page and a picture from stored results, no GPU.

Reads each `results/<gpu>.json` there is and writes `<gpu>.md`, `<gpu>_ratios.png`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tritonbook.command import Parser  # tritonbook must come before Triton
from tritonbook.words import later, say, speaking

from . import pictures, results
from .op import Op, all_ops
from .results import markdown, shown
from .runner import best, ratio

SOLUTIONS = "../../solutions"
# Operations whose memory is half of the point: what they do not keep, others do.
MEMORY = ("flash_fwd", "flash_attention", "llama_block")
LOSSES = later("Where a peer is faster")
COLUMNS = (
    later(
        "A peer's column holds its time over that of our fastest solution, both medians: at 1.00 "
        "or more ours is at least as fast; below 1.00, in bold, the peer is. In brackets: the same "
        "ratio from the 20 % and 80 % quantiles of both, at their least and most favourable for us."
    ),
    later(
        "*Floor*: the share that our solution reaches of what this GPU's copy bandwidth and fp16 "
        "product rate, measured in the same run, allow for the problem's bytes and operations."
    ),
    later("*Spread*: from the 20 % to the 80 % quantile of our time, over its median."),
    later("*Targets*: the ratio that was asked for before the run."),
)


def page(data: Mapping[str, Any], ops: Mapping[str, Op], stem: str) -> str:
    """The report on a results file, as Markdown, in the language spoken.

    data: a results file's. ops: the operations that exist, by name. stem: what the picture's file
    name begins with.
    """
    wins = results.ratios(data["ops"])
    lost = {key: value for key, value in wins.items() if value < 1}
    parts = [
        _head(data, len(lost), len(wins), stem),
        _notebooks(data),
        _losses(data, lost, len(wins)),
        _memory(data),
        _missing(data, ops),
        _runs(data),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(data: Mapping[str, Any], lost: int, compared: int, stem: str) -> str:
    title = say("The workbook's solutions on {gpu}", gpu=data["gpu"])
    made = say(
        "Made by `python -m benchmarks.report` from [{stem}.json]({stem}.json), which `python -m "
        "benchmarks` measured. A peer is faster in {lost} of {compared} comparisons; [each is "
        "named below](#{below}).",
        stem=stem,
        lost=lost,
        compared=compared,
        below=say(LOSSES).lower().replace(" ", "-"),
    )
    picture = say(
        "Bars: the time of each peer over the time of the workbook's fastest solution, one row for "
        "each problem. The figures are in the tables below."
    )
    columns = "\n".join(f"- {say(each)}" for each in COLUMNS)
    return (
        f"# {title}\n\n{made}\n\n![{picture}]({stem}_ratios.png)\n\n"
        f"## {say('By notebook')}\n\n{columns}"
    )


def _notebooks(data: Mapping[str, Any]) -> str:
    by_notebook: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for name, entry in data["ops"].items():
        for problem in entry["problems"]:
            by_notebook.setdefault(entry["notebook"], []).append((name, problem))
    return "\n\n".join(_notebook(slug, by_notebook[slug]) for slug in sorted(by_notebook))


def _notebook(slug: str, problems: list[tuple[str, dict[str, Any]]]) -> str:
    peers = list(
        dict.fromkeys(
            row["name"] for _, problem in problems for row in problem["rows"] if not row["ours"]
        )
    )
    head = [say("problem"), say("ours"), say("floor"), say("spread"), *peers, say("targets")]
    body, reasons = [], []
    for name, problem in problems:
        own, rows = best(problem["rows"]), {row["name"]: row for row in problem["rows"]}
        body.append(
            [
                f"`{name}` {problem['label']}",
                f"`{own['name']}`" if own else say("none ran"),
                f"{own['percent']:.0f} %" if own else "",
                f"{100 * (own['high'] - own['low']) / own['ms']:.1f} %" if own else "",
                *(_against(rows.get(peer), own) for peer in peers),
                "; ".join(_target(target) for target in problem["targets"]) or say("none"),
            ]
        )
        reasons += _other_solutions(name, problem)
        reasons += [
            f"- `{name}` {problem['label']}, {row['name']}: {row['state']}, {row['reason']}"
            for row in problem["rows"]
            if row["state"] != "timed"
        ]
    text = f"### [{slug}]({SOLUTIONS}/{slug}.ipynb)\n\n{markdown(head, body)}"
    return text + ("\n\n" + "\n".join(reasons) if reasons else "")


def _other_solutions(name: str, problem: dict[str, Any]) -> list[str]:
    """What ours that are not the fastest reach of each peer for which a target was set."""
    rows = {row["name"]: row for row in problem["rows"] if row["state"] == "timed"}
    own = best(problem["rows"])
    others = [row for row in rows.values() if row["ours"] and row is not own]
    asked = [target["peer"] for target in problem["targets"] if not target["on_device"]]
    lines = []
    for peer in (rows[name] for name in asked if name in rows and others):
        found = ", ".join(f"`{row['name']}` {shown(ratio(peer, row))}" for row in others)
        against = say("{peer} against others of ours: {found}", peer=peer["name"], found=found)
        lines.append(f"- `{name}` {problem['label']}, {against}")
    return lines


def _against(peer: dict[str, Any] | None, own: dict[str, Any] | None) -> str:
    if peer is None:
        return ""
    if peer["state"] != "timed" or own is None:
        return peer["state"]
    found, (low, high) = ratio(peer, own), _range(peer, own)
    said = shown(found) if found >= 1 else f"**{shown(found)}**"
    return f"{said} ({low:.2f} to {high:.2f})"


def _range(peer: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[float, float]:
    """The ratio from the quantiles: at its least and at its most favourable for us."""
    return peer["low"] / own["high"], peer["high"] / own["low"]


def _target(target: Mapping[str, Any]) -> str:
    word = {True: say("met"), False: say("**missed**"), None: say("open, not run")}[target["met"]]
    return f"{results.asked(target)} {word}"


def _losses(data: Mapping[str, Any], lost: Mapping[tuple, float], compared: int) -> str:
    lines = []
    for (name, label, peer), value in sorted(lost.items(), key=lambda item: item[1]):
        problem = next(p for p in data["ops"][name]["problems"] if p["label"] == label)
        own = best(problem["rows"])
        row = next(row for row in problem["rows"] if row["name"] == peer)
        inside = _range(row, own)[1] >= 1
        lines.append(
            f"- `{name}` {label}: "
            + say("**{peer}** takes {ratio} of our time", peer=peer, ratio=shown(value))
            + (say(", within the spread") if inside else "")
            + _on_device(row, problem["rows"])
        )
    found = say("Nowhere.")
    if lost:
        found = say(
            "{lost} of {compared} comparisons, the largest loss first.",
            lost=len(lost),
            compared=compared,
        )
    if any(say("; kernels alone {ratio}", ratio="") in line for line in lines):
        found += "\n\n" + say(
            "*Kernels alone*: the same ratio for replayed CUDA graphs, without the host's share of "
            "a call and with inputs that stay in the cache; our fastest there."
        )
    text = f"## {say(LOSSES)}\n\n{found}"
    return text + ("\n\n" + "\n".join(lines) if lines else "")


def _on_device(peer: Mapping[str, Any], rows: list[dict[str, Any]]) -> str:
    own = best(rows, "device_ms")
    if not (own and peer.get("device_ms")):
        return ""
    return say("; kernels alone {ratio}", ratio=f"{peer['device_ms'] / own['device_ms']:.2f}")


def _memory(data: Mapping[str, Any]) -> str:
    """Peak memory of a call for the operations of MEMORY; "" where the file holds none."""
    lines: dict[str, dict[str, str]] = {}
    for name in MEMORY:
        for problem in data["ops"].get(name, {"problems": ()})["problems"]:
            own = best(problem["rows"])
            peers = [row for row in problem["rows"] if not row["ours"]]
            cells = {
                say("ours") if row["ours"] else row["name"]: f"{row['peak_bytes'] / 2**20:,.0f} MiB"
                for row in ([own] if own else []) + peers
                if row.get("peak_bytes") is not None
            }
            if cells:
                lines[f"`{name}` {problem['label']}"] = cells
    if not lines:
        return ""
    named = [who for cells in lines.values() for who in cells]
    columns = list(dict.fromkeys([say("ours"), *named]))
    body = [[line, *(cells.get(who, "") for who in columns)] for line, cells in lines.items()]
    title = say("Peak memory of a call")
    how = say(
        "The most that one call holds at a time in PyTorch's allocator, its result included, its "
        "arguments not; ours is the fastest solution."
    )
    return f"## {title}\n\n{how}\n\n{markdown([say('problem'), *columns], body)}"


def _missing(data: Mapping[str, Any], ops: Mapping[str, Op]) -> str:
    """What exists and has no figure in this file."""
    lines = []
    for name, op in ops.items():
        entry = data["ops"].get(name)
        if entry is None:
            labels = ", ".join(problem.label for problem in op.problems)
            lines.append(f"- `{name}` ({op.notebook}): {labels}")
            continue
        rows = {problem["label"]: problem["rows"] for problem in entry["problems"]}
        for problem in op.problems:
            have = {row["name"] for row in rows.get(problem.label, ())}
            absent = [provider for provider in op.providers if provider not in have]
            if problem.label not in rows:
                lines.append(f"- `{name}` {problem.label}")
            elif absent:
                lines.append(f"- `{name}` {problem.label}: {', '.join(absent)}")
    title = say("Not in this run")
    what = say(
        "Operations, problems and providers of `python -m benchmarks` without a figure in this "
        "file:"
    )
    return f"## {title}\n\n{what}\n\n" + ("\n".join(lines) or f"- {say('none')}")


def _runs(data: Mapping[str, Any]) -> str:
    """Dates, versions and measured rates, once for each run that the file holds."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for name, entry in data["ops"].items():
        versions, peaks = entry["versions"], entry["ceilings"]
        key = (
            entry["date"],
            versions["torch"],
            versions["triton"],
            versions["python"],
            f"{peaks['copy_gbps']:.0f} GB/s",
            f"{peaks['fp16_tflops']:.0f} TFLOP/s",
        )
        runs.setdefault(key, []).append(f"`{name}`")
    head = [say("date"), "torch", "Triton", "Python"]
    head += [say("copy"), say("fp16 product"), say("operations")]
    body = [[*key, ", ".join(names)] for key, names in sorted(runs.items())]
    title = say("Versions and measured rates")
    return (
        f"## {title}\n\n{say('Each operation had a process of its own.')}\n\n{markdown(head, body)}"
    )


def stored() -> list[Path]:
    """The results files that the workbook keeps, one for each GPU."""
    others = ("sweep_", "grading_", "ranks_")
    paths = sorted(results.DIRECTORY.glob("*.json"))
    return [path for path in paths if not path.name.startswith(others)]


def main() -> None:
    Parser(prog="python -m benchmarks.report", description=__doc__).parse_args()
    for path in stored():
        data = results.read(path)
        with speaking("en"):
            path.with_suffix(".md").write_text(page(data, all_ops(), path.stem), encoding="utf-8")
        print("written:", path.with_suffix(".md"), pictures.draw(data, path.with_suffix("")))


if __name__ == "__main__":
    main()
