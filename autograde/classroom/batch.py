"""Items on their way to another machine and verdicts on their way back: JSON files in one folder.

    batch.json        which items, and how they are to be run
    chunk-0003.json   everything that one job needs, hidden tests and the course's secret included
    out/0003-007.json the verdict on item 7 of chunk 3, written whole or not at all
    closed.json       what batch.json was, where nobody waits for this batch any more

The folder is readable by its owner only. Whoever reads a verdict checks that it is about the item
that was asked for: a file is data, wherever it came from.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ..judge.execute import Setting
from ..judge.work import Asked, Item, Record, Verdict

MAX_VERDICT_BYTES = 64 << 20
_ITEMS = TypeAdapter(list[Item])


class Plan(Record):
    """A batch: its items by chunk, and how a job runs them."""

    setting: Setting  # its level may be "auto": the best one on the node
    force: bool
    workers: int
    chunks: tuple[tuple[Asked, ...], ...]


@dataclass(frozen=True)
class Batch:
    """One folder of work for Slurm, whose jobs have the folder's name."""

    folder: Path
    plan: Plan

    @classmethod
    def create(
        cls,
        parent: Path,
        chunks: Sequence[Sequence[Item]],
        setting: Setting,
        force: bool,
        workers: int,
    ) -> Batch:
        """Write a new batch below `parent`. It is complete on the disk when this returns."""
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # `work` may be a link to the disk that the nodes share: they know the real place only.
        folder = parent.resolve() / f"autograde-{secrets.token_hex(6)}"
        folder.mkdir(mode=0o700)
        (folder / "out").mkdir(mode=0o700)
        plan = Plan(
            setting=dataclasses.replace(setting, image=setting.image and setting.image.resolve()),
            force=force,
            workers=workers,
            chunks=tuple(tuple(item.asked for item in chunk) for chunk in chunks),
        )
        for number, chunk in enumerate(chunks):
            replace(folder / f"chunk-{number:04}.json", _ITEMS.dump_json(list(chunk)).decode())
        replace(folder / "batch.json", plan.model_dump_json())
        return cls(folder, plan)

    @classmethod
    def read(cls, folder: Path) -> Batch:
        """Raises OSError or ValidationError for a folder that holds no whole batch."""
        return cls(folder, Plan.model_validate_json((folder / "batch.json").read_bytes()))

    def items(self, chunk: int) -> list[Item]:
        """The items of a chunk, with everything needed to run them."""
        return _ITEMS.validate_json((self.folder / f"chunk-{chunk:04}.json").read_bytes())

    def path(self, chunk: int, number: int) -> Path:
        """Where the verdict on one item lies."""
        return self.folder / "out" / f"{chunk:04}-{number:03}.json"

    def write(self, chunk: int, number: int, verdict: Verdict) -> None:
        replace(self.path(chunk, number), verdict.model_dump_json())

    def verdict(self, chunk: int, number: int) -> Verdict | None:
        """The verdict on one item; None while there is no file.

        Raises ValueError, one sentence, for a file that is no verdict or one on something else.
        """
        path = self.path(chunk, number)
        try:
            with path.open("rb") as file:
                text = file.read(MAX_VERDICT_BYTES + 1)
        except FileNotFoundError:
            return None
        if len(text) > MAX_VERDICT_BYTES:
            raise ValueError(f"{path.name} is larger than {MAX_VERDICT_BYTES >> 20} MB")
        try:
            verdict = Verdict.model_validate_json(text)
        except ValidationError as problem:
            fields = ", ".join(str(e["loc"]) for e in problem.errors()[:3])
            raise ValueError(f"{path.name} is not a verdict: {fields}") from None
        asked = self.plan.chunks[chunk][number]
        if any(getattr(verdict, name) != value for name, value in asked):
            raise ValueError(f"{path.name} is about {verdict.item}, not about {asked.item}")
        return verdict

    def refusal(self) -> str | None:
        """Why a node would not run this batch, if one said so."""
        path = self.folder / "out" / "refused"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None

    def refuse(self, sentence: str) -> None:
        replace(self.folder / "out" / "refused", sentence)

    def close(self) -> None:
        """Nobody waits for it any more. Hidden tests and verdicts go; logs of the jobs stay."""
        (self.folder / "batch.json").rename(self.folder / "closed.json")
        for path in [*self.folder.glob("chunk-*.json"), *(self.folder / "out").glob("*.json")]:
            path.unlink(missing_ok=True)


def replace(path: Path, text: str) -> None:
    """Write a file so that a reader on another machine sees all of it or none."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
