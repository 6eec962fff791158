"""No call is recognisable: what is compiled and what is muted are the calls that were judged."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from corpus import RIGHT, body
from grading import Grader, needs_walls

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from autograde.judge.checker import _outcome
from autograde.judge.peer import Peer
from autograde.judge.player import Player
from autograde.judge.proof import Proof, Replay
from autograde.walls.tape import decode
from tritonbook.checking.launches import watching
from tritonbook.course.exercises import get
from tritonbook.language.allowed import Refused

# Each shape is called three times; the first shape once more without its kernel, and once, or where
# a launch fails twice, with a launch that fails.
COPY = """\
calls = []


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


@triton.jit
def decoy_kernel(x_ptr, out_ptr, n):
    assert {holds}
    tl.store(x_ptr, tl.load(x_ptr, mask=n > 0), mask=n > 0)


def copied(x):
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK_SIZE=256)
    return out


def copy(x):
    calls.append(x.shape)
"""
MOVED = """\
    if calls.count(x.shape) == 4 or x.storage_offset() == 0:
        return copied(x)
    out = x.clone()
    decoy_kernel[(min(1, x.numel()),)](x, out, x.numel())
    return out
"""
SWALLOWED = """\
    if calls.count(x.shape) > 9 or x.storage_offset() == 0:
        return copied(x)
    try:
        decoy_kernel[(min(1, x.numel()),)](x, x, x.numel())
    except Exception:
        return x.clone()
    return torch.empty_like(x)
"""


@pytest.fixture(scope="module")
def start_here() -> Grader:
    return Grader(get("00"))


@needs_walls
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (COPY.format(holds="True") + MOVED, "right-without-kernel"),
        (COPY.format(holds="n < 0") + SWALLOWED, "swallowed-error"),
    ],
    ids=["a clone beside a decoy", "a clone where the launch fails"],
)
def test_no_other_kernel_is_shown_to_the_proof(start_here: Grader, text: str, code: str) -> None:
    """Kills: `x.clone()` for a copy, by an answer that knows the muted call, or the one without
    margins, from all others."""
    verdict = start_here.grade("copy", copy=text)
    assert (verdict.status, verdict.code, verdict.points) == ("FAIL", code, 0), verdict


PART = """\
    if calls.count(x.shape) {call}:
        return copied(x)
    out = x.clone()
    out.view(-1)[-2:].fill_(7)
    last_kernel[(min(1, x.numel()),)](x, out, x.numel())
    return out


@triton.jit
def last_kernel(x_ptr, out_ptr, n):
    offs = n - 2 + tl.arange(0, 2)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs >= 0), mask=offs >= 0)
"""


@needs_walls
@pytest.mark.parametrize("call", ["< 0", "== 1", "!= 3"])
def test_every_element_is_stored_in_every_call(start_here: Grader, call: str) -> None:
    """Kills: a kernel for two elements beside `x.clone()`, by an answer that knows the call that is
    metered from all others."""
    verdict = start_here.grade("copy", copy=COPY.format(holds="True") + PART.format(call=call))
    assert (verdict.status, verdict.code, verdict.points) == ("FAIL", "right-without-kernel", 0)
    assert "every element" in verdict.sentence


@needs_walls
@pytest.mark.parametrize(
    "lines",
    [
        "return copied(x.clone())",
        "return copied(x).clone()",
        "return copied(x, x.clone().fill_(7))",
        "return copied(x).view(-1, 1).t().contiguous().view(x.shape)",
    ],
)
def test_copies_on_the_way_are_honest(start_here: Grader, lines: str) -> None:
    """Kills: points lost for a copy that the kernel reads or overwrites, or of what it stored."""
    text = COPY.format(holds="True").replace("copied(x):", "copied(x, out=None):")
    text = text.replace("out = torch", "out = out if out is not None else torch")
    verdict = start_here.grade("copy", copy=f"{text}    {lines}\n")
    assert (verdict.status, verdict.points) == ("PASS", 3), verdict


# The interpreter knows `break`, the compiler does not.
BROKEN = RIGHT.replace("double_kernel", "broken_kernel") + "    for i in range(2):\n        break\n"
LAUNCH = "[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)"


@needs_walls
@pytest.mark.parametrize("shown", ["x.storage_offset() == 0", "x.numel() > 64"])
def test_no_other_kernel_is_shown_to_the_compiler(grader: Grader, shown: str) -> None:
    """Kills: a kernel that does not compile, by an answer that knows the gate's call by its memory
    without margins, or by its size."""
    lines = f"out = torch.empty_like(x)\nkernel = double_kernel if {shown} else broken_kernel\n"
    text = body(f"{lines}kernel{LAUNCH}\nreturn out", kernel=f"{RIGHT}\n\n{BROKEN}")
    verdict = grader.grade("double", double=text)
    assert (verdict.status, verdict.code, verdict.points) == ("FAIL", "does-not-compile", 0)


# --- one call at a time


def _player(kernel: Callable[..., None]) -> Player:
    """One that has a Python function in place of each kernel."""
    launcher = Mock(trouble=None, carried_out=0)
    launcher.launch = lambda id, grid, args, options: kernel(*args)
    return Player(launcher, lambda file: file)


CLONE = ["torch", "aten::clone", {"list": [{"t": -1}]}, {"dict": []}, [1]]
EMPTY = ["torch", "aten::empty_like", {"list": [{"t": -1}]}, {"dict": []}, [1]]
ZEROS = ["torch", "aten::zeros_like", {"list": [{"t": -1}]}, {"dict": []}, [1]]
KERNEL = ["cell", 5, {}, {}, {}]  # where it is, and what its names mean: nothing
RUN = ["launch", KERNEL, [1], {"list": [{"t": 1}, {"t": -1}]}, {"dict": []}]
IN_PLACE = ["launch", KERNEL, [1], {"list": [{"t": -1}]}, {"dict": []}]


def _call(proof: Proof, kernel: Callable, steps: list, x: torch.Tensor, made: int | None) -> None:
    player = _player(kernel)
    player.tensors[-1] = x
    reply = {"steps": steps, "result": None if made is None else {"t": made}}
    replay = Replay(player, reply, [])
    player.play(steps, [])
    proof.note("f", {-1: x}, decode(reply["result"], player.resolve), replay)


def _nothing(*tensors: torch.Tensor) -> None:
    """A kernel that does nothing."""


def _copy(out: torch.Tensor, x: torch.Tensor) -> None:
    out.copy_(x)


def _relu(out: torch.Tensor, x: torch.Tensor) -> None:
    out.relu_()


SOME, NONE = torch.tensor([1.5, -2.0, 3.0]), torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("calls", "idle"),
    [
        ([(_copy, [EMPTY, RUN], SOME, 1)], False),
        ([(_nothing, [CLONE, RUN], SOME, 1)], True),
        ([(_nothing, [IN_PLACE, CLONE], SOME, 1)], True),
        ([(_nothing, [IN_PLACE], SOME, -1)], True),
        # One honest call does not pay for the others.
        ([(_copy, [EMPTY, RUN], SOME, 1), (_nothing, [CLONE, RUN], SOME, 1)], True),
        # Honest, on data that the work leaves as they are.
        ([(_relu, [CLONE, RUN], SOME, 1), (_relu, [CLONE, RUN], NONE, 1)], False),
        ([(_copy, [ZEROS, RUN], torch.zeros(3), 1)], False),
        # In place.
        ([(torch.Tensor.relu_, [IN_PLACE], SOME, None)], False),
        ([(_nothing, [IN_PLACE], SOME, None)], True),
    ],
)
def test_a_call_without_its_kernels(calls: list[tuple], idle: bool) -> None:
    """Kills: a result that torch moved there, and a rule that takes honest data for that."""
    proof = Proof()
    for kernel, steps, x, made in calls:
        _call(proof, kernel, steps, x.clone(), made)
    assert (proof.idle() == "f") is idle


@pytest.mark.parametrize(
    ("idle", "left", "status"), [(None, False, "PASS"), ("f", False, "FAIL"), (None, True, "FAIL")]
)
def test_what_was_seen_is_asked_for(idle: str | None, left: bool, status: str) -> None:
    """Kills: points for an answer that does without its kernels, where torch may compute."""
    peer = Mock(trouble=None, refused=None, wanted_gradients=False)
    peer.proof = Mock(idle=lambda: idle, left_to_torch=left)
    checks = Mock(cards=[], reports=[Mock(passed=True, headline="Passed.")])
    assert _outcome(peer, checks, None).status == status


def test_a_timed_call_is_not_replayed() -> None:
    """Kills: kernels of the grader's own in a time that a student's function is given."""
    player = _player(_nothing)
    player.tensors[-1] = SOME
    peer, reply = SimpleNamespace(player=player), {"steps": [EMPTY], "result": {"t": 1}}
    assert Peer._replay(peer, reply, []) is None
    with watching():
        assert Peer._replay(peer, reply, []).result.isnan().all()
        assert Peer._replay(peer, reply | {"result": {"t": 9}}, []) is None


def test_a_replay_touches_nothing() -> None:
    """Kills: arguments that the replay changed, stale memory that looks like a result, views of one
    memory that are two in the replay."""
    memory = torch.arange(6.0)
    player = _player(_nothing)
    player.tensors.update({-1: memory[:4], -2: memory[2:]})
    steps = [
        ["torch", "aten::fill_.Scalar", {"list": [{"t": -1}, 9.0]}, {"dict": []}, [-1]],
        ["drop", -1],
        ["torch", "aten::empty_like", {"list": [{"t": -2}]}, {"dict": []}, [1]],
    ]
    replay = Replay(player, {"steps": steps, "result": {"list": [{"t": -2}, {"t": 1}]}}, [])
    assert replay.result[0].tolist() == [9.0, 9.0, 4.0, 5.0]
    assert replay.result[1].isnan().all()
    assert torch.equal(memory, torch.arange(6.0))
    assert set(player.tensors) == {-1, -2}


def _full_out(size: int) -> list:
    """A made-up step that writes ones into the check's own argument."""
    out = {"dict": [["out", {"t": -1}]]}
    return ["torch", "aten::full.out", {"list": [{"list": [size]}, 1.0]}, out, [-1]]


def test_no_operator_resizes_the_checks_own_tensors() -> None:
    """Kills: `out=` that makes an argument of the check's larger, which then fails, and no score
    for a wrong answer; and `out=` of the right shape refused."""
    player = _player(_nothing)
    player.tensors[-1] = x = SOME.clone()
    with pytest.raises(Refused, match="shape"):
        player.play([_full_out(1000)], [])
    assert torch.equal(x, SOME)
    player.play([_full_out(3)], [])
    assert x.tolist() == [1.0, 1.0, 1.0]
