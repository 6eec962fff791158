"""The results file of a GPU, the table that ends a run, and what became slower since last time."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .op import Op
from .runner import best, ratio

DIRECTORY = Path(__file__).parent / "results"
# A ratio that falls by more than this share of its stored value is reported.
SLACK = 0.05


def path_for(gpu: str) -> Path:
    """benchmarks/results/<gpu>.json, the name in lower case with single underscores."""
    return DIRECTORY / (re.sub(r"[^a-z0-9]+", "_", gpu.lower()).strip("_") + ".json")


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(path: Path, gpu: str, entries: dict[str, Any], indent: int | None = 1) -> None:
    """Put the entries of this run into the GPU's file; other operations keep theirs."""
    found = read(path) or {"gpu": gpu, "ops": {}}
    found["ops"].update(entries)
    path.write_text(json.dumps(found, indent=indent, sort_keys=True) + "\n", encoding="utf-8")


def of_today(
    stored: Mapping[str, Any], ops: Mapping[str, Op], here: Mapping[str, Any]
) -> dict[str, Any]:
    """The entries that a run of today would measure again: same versions, problems and providers.

    stored: a results file's data, or {}. here: what `versions()` says. A run goes on from these.
    """
    kept = {}
    for name in ops.keys() & stored.get("ops", {}).keys():
        entry = stored["ops"][name]
        have = [(p["label"], [row["name"] for row in p["rows"]]) for p in entry["problems"]]
        want = [(p.label, list(ops[name].providers)) for p in ops[name].problems]
        today = entry["date"] == datetime.date.today().isoformat()
        if today and entry["versions"] == dict(here) and have == want:
            kept[name] = entry
    return kept


def slower(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """One sentence for each stored ratio (peer / our best) that fell by more than SLACK."""
    before = ratios(old.get("ops", {}))
    sentences = []
    for key, now in ratios(new).items():
        then = before.get(key)
        if then and now < (1 - SLACK) * then:
            name, label, peer = key
            sentences.append(f"{name} {label}: {now:.2f} of {peer}, was {then:.2f}")
    return sentences


def refused(entries: dict[str, Any]) -> list[str]:
    """One sentence for each row that was not timed because its result is wrong."""
    return [
        f"{name} {problem['label']} {row['name']}: {row['reason']}"
        for name, entry in entries.items()
        for problem in entry["problems"]
        for row in problem["rows"]
        if row["state"] == "refused"
    ]


def ratios(entries: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    """(operation, problem, peer) -> the peer's time over that of our fastest, where both ran."""
    found = {}
    for name, entry in entries.items():
        for problem in entry["problems"]:
            own = best(problem["rows"])
            for row in problem["rows"]:
                if own and not row["ours"] and row["state"] == "timed":
                    found[name, problem["label"], row["name"]] = ratio(row, own)
    return found


def shown(value: float, least: float = 1) -> str:
    """A ratio with two digits, or with as many as it takes to show that it is below `least`."""
    digits = next(n for n in range(2, 17) if value >= least or float(f"{value:.{n}f}") < least)
    return f"{value:.{digits}f}"


def asked(target: Mapping[str, Any]) -> str:
    """What a stored target asks for."""
    where = " on the device" if target["on_device"] else ""
    return f"{target['least']:.2f} of {target['peer']}{where}"


def markdown(head: list[str], body: list[list[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))


def table(entries: dict[str, Any]) -> str:
    """One line per provider; `ratio` is its time over that of our fastest (above 1: we win)."""
    form = "{:<38}{:<18}{:>9}{:>9}{:>8}{:>7}{:>9}"
    lines = [form.format("problem", "", "ms", "device", "ratio", "floor", "error")]
    for name, entry in entries.items():
        for problem in entry["problems"]:
            lines += _problem_lines(form, name, problem)
    wins = ratios(entries)
    lost = [f"{n} {label}: {peer} ({shown(r)})" for (n, label, peer), r in wins.items() if r < 1]
    lines.append(f"a peer is faster in {len(lost)} of {len(wins)} comparisons")
    lines += [f"  {line}" for line in lost]
    return "\n".join(lines)


def _problem_lines(form: str, name: str, problem: dict[str, Any]) -> list[str]:
    own, lines = best(problem["rows"]), []
    for row in problem["rows"]:
        label = f"{name} {problem['label']}" if not lines else ""
        who = f"* {row['name']}" if row["ours"] else row["name"]
        if row["state"] != "timed":
            lines.append(f"{label:<38}{who:<18}{row['state']}: {row['reason']}")
            continue
        device = f"{row['device_ms']:.4f}" if row["device_ms"] else ""
        against = shown(ratio(row, own)) if own else ""
        floor = f"{row['percent']:.0f} %"
        ms, error = f"{row['ms']:.4f}", f"{row['error']:.0e}"
        lines.append(form.format(label, who, ms, device, against, floor, error).rstrip())
    for target in problem["targets"]:
        reached = (
            "not run" if target["reached"] is None else shown(target["reached"], target["least"])
        )
        word = {True: "met", False: "MISSED", None: "open"}[target["met"]]
        lines.append(f"{'':<38}target {asked(target)}: {reached}, {word}")
    return lines
