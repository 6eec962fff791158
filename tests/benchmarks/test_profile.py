"""`python -m benchmarks.profile` with an ncu made of paper: who is profiled, and what can fail."""

import json
import os
import sys
import time
from dataclasses import replace

import paper_ncu
import pytest
import torch
from paper_results import row, stored

from benchmarks import counters, misses, profile, profile_child, results
from benchmarks.op import Missing, Op, Problem, Provider, peer
from benchmarks.profile import Failed, Ncu, tune

MACHINE = {"gpu": "Paper GPU", "torch": "9.9", "triton": "8.8", "python": "3.99"}
OP = Op(
    "double",
    "00_none",
    [Problem(f"{n} fp32", lambda device, n=n: (torch.randn(n),), bytes=1e9) for n in (200, 300)],
    exact=abs,
    providers={
        "eager": peer(lambda x: x + x),
        "double": Provider(lambda: lambda x: 2 * x, ours=True),
        "other": Provider(lambda: lambda x: 2 * x, ours=True),
        "slow": peer(lambda x: x + x),
    },
)
OPS = {"double": OP, "triple": replace(OP, name="triple")}
MISSED = {"peer": "eager", "least": 1.2, "reached": 1.0, "met": False}


@pytest.fixture
def paper_ncu_at(tmp_path):
    """Write an executable that does what ncu does as far as anyone outside can see."""

    def make(body, version="2025.3.1.0"):
        place = tmp_path / "ncu"
        place.write_text(
            f"#!{sys.executable}\n"
            "import pathlib, sys, time\n"
            "if '--version' in sys.argv:\n"
            f"    print('Profiler\\nVersion {version} (build 1)'); raise SystemExit\n"
            "log = pathlib.Path(sys.argv[sys.argv.index('--log-file') + 1])\n"
            f"calls = pathlib.Path({str(tmp_path / 'calls.txt')!r})\n"
            "calls.open('a').write(' '.join(sys.argv[1:]) + '\\n')\n" + body
        )
        place.chmod(0o755)
        return Ncu(str(place), version, set())

    return make


@pytest.fixture(autouse=True)
def tuned(monkeypatch):
    """The programs that were run without ncu: none is, here."""
    ran = []
    monkeypatch.setattr(profile, "tune", ran.append)
    return ran


def calls(tmp_path):
    return (tmp_path / "calls.txt").read_text().splitlines()


def writes(text, called=("rmsnorm", "torch"), **reasons):
    said = json.dumps({"called": list(called), "reasons": reasons})
    return f"log.write_text({text!r})\nprint('chatter of the program')\nprint({said!r})\n"


def test_kernels_come_back_by_provider(tmp_path, paper_ncu_at):
    """Kills: peers' kernels under our name; a peer that could not run left out of the record."""
    ncu = paper_ncu_at(writes(paper_ncu.two_providers(), liger="not installed"))
    found = profile.profile(ncu, "rmsnorm", "8x8", ["rmsnorm", "torch", "liger"])
    assert [who["name"] for who in found] == ["rmsnorm", "torch", "liger"]
    assert [kernel["ns"] for who in found[:2] for kernel in who["kernels"]] == [94176, 9000, 1000]
    assert found[2] == {"name": "liger", "reason": "not installed"}
    (said,) = calls(tmp_path)
    for option in ("--profile-from-start off", "--clock-control none", "--print-units base"):
        assert option in said
    assert said.endswith("-m benchmarks.profile_child rmsnorm 8x8 rmsnorm torch liger")


def test_the_program_runs_once_without_ncu_before(tuned, paper_ncu_at):
    """Kills: a tuner that picks its tile below ncu, where every launch takes longer."""
    ncu = paper_ncu_at(
        "import os\nassert os.environ['TRITON_CACHE_AUTOTUNING'] == '1'\n"
        + writes(paper_ncu.two_providers())
    )
    profile.profile(ncu, "rmsnorm", "8x8", ["rmsnorm", "torch"])
    (child,) = tuned
    assert child[1:] == ["-m", "benchmarks.profile_child", "rmsnorm", "8x8", "rmsnorm", "torch"]


def test_tuning_that_fails_or_hangs_is_left_to_the_profile(tmp_path, monkeypatch):
    """Kills: a run that ends, or waits for ever, at a program that ncu would tell about."""
    monkeypatch.setattr(profile, "SECONDS", 1)
    seen = tmp_path / "seen"
    report = f"import os; open({str(seen)!r}, 'w').write(os.environ['TRITON_CACHE_AUTOTUNING'])"
    tune([sys.executable, "-c", f"{report}; raise SystemExit(3)"])
    assert seen.read_text() == "1"
    began = time.monotonic()
    tune([sys.executable, "-c", "import time; time.sleep(60)"])
    assert time.monotonic() - began < 20


def test_a_metric_that_ncu_lacks_is_left_out_and_remembered(tmp_path, paper_ncu_at):
    """Kills: a profile that fails for one name; the same refusal paid again for each problem."""
    body = (
        "if 'lts__t_sector' in sys.argv[sys.argv.index('--metrics') + 1]:\n"
        "    log.write_text('==ERROR== Failed to find metric lts__t_sector_hit_rate.pct\\n')\n"
        "    raise SystemExit(1)\n"
    )
    ncu = paper_ncu_at(body + writes(paper_ncu.two_providers()))
    for _ in range(2):
        assert profile.profile(ncu, "rmsnorm", "8x8", ["rmsnorm", "torch"])
    assert ["lts__t_sector" in line for line in calls(tmp_path)] == [True, False, False]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("print('a\\nKeyError: 1', file=sys.stderr); raise SystemExit(3)\n", "^KeyError: 1$"),
        ("print('==ERROR== Bad option')\n", "Bad option"),
        ("print('no JSON')\n", "the profiled program ended early"),
        ("log.write_text('==ERROR== Broken pass.\\n'); print('x')\n", "Broken pass."),
        (writes("==WARNING== No kernels were profiled.\n"), "ncu saw no kernel"),
    ],
)
def test_a_child_that_fails_is_a_reason(paper_ncu_at, body, says):
    """Kills: an empty profile taken for a profile; a traceback of the parent."""
    with pytest.raises(Failed, match=says):
        profile.profile(paper_ncu_at(body), "rmsnorm", "8x8", ["rmsnorm"])


def test_a_child_that_takes_too_long_is_ended_with_all_it_started(
    tmp_path, paper_ncu_at, monkeypatch
):
    """Kills: a hang that stops the whole run; a program that goes on below an ended ncu."""
    body = (
        "import subprocess\n"
        "below = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(below.pid))\ntime.sleep(60)\n"
    )
    monkeypatch.setattr(profile, "SECONDS", 2)
    with pytest.raises(Failed, match="took more than 2 s"):
        profile.profile(paper_ncu_at(body), "rmsnorm", "8x8", ["rmsnorm"])
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid):
    """Whether the process works on; an ended one may wait for someone to ask for its exit code."""
    try:
        return os.path.exists(f"/proc/{pid}") and open(f"/proc/{pid}/stat").read().split()[2] != "Z"
    except OSError:
        return False


@pytest.fixture
def command(tmp_path, monkeypatch, paper_ncu_at):
    """Run the command on a GPU of paper, with stored results in which one target is missed."""

    def run(body, *arguments, data=None):
        ncu = paper_ncu_at(body)
        out = tmp_path / "results"
        if data is not None:
            results.write(out / "paper_gpu.json", "Paper GPU", data["ops"])
        monkeypatch.setattr(profile, "INTERPRET", False)
        monkeypatch.setattr(profile, "versions", lambda: MACHINE)
        monkeypatch.setattr(profile, "all_ops", lambda: OPS)
        monkeypatch.setattr(profile, "find_ncu", lambda: ncu)
        return profile.main([*arguments, "--out", str(out)])

    return run


def missing_one():
    rows = (
        row("double", 1.0, ours=True, device_ms=0.9),
        row("other", 1.1, ours=True, device_ms=0.8),
        row("eager", 1.0),
        row("slow", 3.0),
    )
    return stored(*rows, targets=[MISSED])


def profiled(*names):
    """An answer of ncu's with one kernel for each name."""
    lines = []
    for index, _ in enumerate(names, 1):
        lines.append(paper_ncu.marker(2 * index, index))
        lines.append(paper_ncu.kernel(2 * index + 1, "k", **paper_ncu.OURS))
    return writes(paper_ncu.output(*lines), called=names)


def test_by_default_missed_targets_ours_and_the_peer_that_won(tmp_path, command, capsys):
    """Kills: a missed target without a profile; providers nobody asked about, at seconds each."""
    assert command(profiled("double", "other", "eager"), data=missing_one()) == 0
    (said,) = calls(tmp_path)
    assert said.endswith("double 200 fp32 double other eager")
    found = json.loads((tmp_path / "results" / "paper_gpu_profiles.json").read_text())
    (one,) = found["profiles"]
    assert (found["gpu"], one["operation"], one["problem"]) == ("Paper GPU", "double", "200 fp32")
    assert (one["ncu"], one["versions"]) == ("2025.3.1.0", MACHINE)
    assert [len(who["kernels"]) for who in one["providers"]] == [1, 1, 1]
    out = capsys.readouterr().out
    assert "long scoreboard 60 %" in out.splitlines()[-3]
    assert out.splitlines()[-1].startswith("1 of 1 problems profiled, written to ")


def test_other_problems_keep_their_profiles(tmp_path, command):
    """Kills: a file that holds the last run alone."""
    assert command(profiled("double", "other", "eager"), data=missing_one()) == 0
    assert command(profiled("double", "other"), "double:300", "--only", "double,other") == 0
    place = tmp_path / "results" / "paper_gpu_profiles.json"
    found = json.loads(place.read_text())["profiles"]
    assert [(each["problem"], len(each["providers"])) for each in found] == [
        ("200 fp32", 3),
        ("300 fp32", 2),
    ]
    assert misses.read_profiles(tmp_path / "results" / "paper_gpu.json") == found


def test_a_named_problem_takes_every_peer_and_the_operation_by_its_whole_name(tmp_path, command):
    """Kills: a name that is also a part of others; peers that have no missed target left out."""
    assert (
        command(profiled("double", "other", "eager", "slow"), "double:200", data=missing_one()) == 0
    )
    assert calls(tmp_path)[0].endswith("double 200 fp32 double other eager slow")


def test_without_stored_results_everyone_takes_part(tmp_path, command):
    assert command(profiled("double", "other", "eager", "slow"), "ripl:300") == 0
    assert calls(tmp_path)[0].endswith("triple 300 fp32 double other eager slow")


def test_the_next_problem_goes_on_after_a_failure(tmp_path, command, capsys):
    """Kills: a run that stops, or that ends with 0, where one problem failed."""
    body = "if '200 fp32' in sys.argv: raise SystemExit(7)\n" + profiled("double")
    assert command(body, "double", "--only", "double") == 1
    out = capsys.readouterr().out
    assert "FAILED double 200 fp32: the profiled program ended early" in out
    assert "1 of 2 problems profiled" in out


def test_stored_problems_that_are_no_more_are_named(command, capsys):
    """Kills: a traceback, or silence, for results that are older than the operations."""
    data = missing_one()
    data["ops"]["gone"] = data["ops"].pop("double")
    assert command("", data=data) == 0
    out = capsys.readouterr().out
    assert "skipped: gone 200 fp32" in out and "Nothing to profile" in out


@pytest.mark.parametrize(
    ("body", "arguments", "says"),
    [
        ("", [], "There are no stored results of Paper GPU"),
        (
            "log.write_text('==ERROR== ERR_NVGPUCTRPERM - no\\n')\nprint('x')\n",
            ["double:200"],
            "(ERR_NVGPUCTRPERM); run as root",
        ),
    ],
)
def test_what_cannot_work_here_is_one_sentence(command, capsys, body, arguments, says):
    """Kills: a traceback, or exit code 0, where this machine gives no counters."""
    assert command(body, *arguments) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


@pytest.mark.parametrize("arguments", [["nope"], ["double:nope"], ["--only", "nope"]])
def test_unknown_names_are_one_sentence(command, capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        command("", *arguments)
    said = capsys.readouterr().err
    assert "nope" in said and said.count("\n") == 1


def test_ncu_is_found_on_the_path_else_the_newest_installed(tmp_path, monkeypatch, paper_ncu_at):
    """Kills: 2024.10 passed over for 2024.9; an ncu that does not run taken for one."""
    for version in ("2024.9.0", "2024.10.0"):
        folder = tmp_path / "opt/nvidia/nsight-compute" / version
        folder.mkdir(parents=True)
        os.rename(paper_ncu_at("", version).path, folder / "ncu")
    broken = tmp_path / "opt/nvidia/nsight-compute/2025.1.0/ncu"
    broken.parent.mkdir()
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    assert profile.find_ncu(tmp_path).version == "2024.10.0"
    paper_ncu_at("", "2023.1.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert profile.find_ncu(tmp_path).version == "2023.1.0"


def test_no_ncu_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(counters.Refused, match="install Nsight Compute"):
        profile.find_ncu(tmp_path)


def test_the_child_calls_each_once_after_its_marker_and_after_all_are_warm():
    """Kills: a compilation inside the profile; a provider without its marker."""
    told = []

    def says(name):
        return lambda x: told.append(name)

    def absent():
        raise Missing("not installed")

    def broken(x):
        raise RuntimeError("no")

    op = replace(
        OP,
        providers={
            "absent": Provider(absent),
            "a": peer(says("a")),
            "broken": peer(broken),
            "b": peer(says("b")),
        },
    )
    said = profile_child.call_in_turn(
        op,
        "300 fp32",
        ["absent", "a", "broken", "b"],
        device="cpu",
        mark=lambda number: told.append(number),
        start=lambda: told.append("start"),
        stop=lambda: told.append("stop"),
        wait=lambda: None,
    )
    assert said == {
        "called": ["a", "b"],
        "reasons": {"absent": "not installed", "broken": "raised RuntimeError: no"},
    }
    warm = ["a"] * profile_child.WARM_UPS + ["b"] * profile_child.WARM_UPS
    assert told == [*warm, 1, "start", 1, "a", 2, "b", "stop"]


def test_the_marker_is_the_kernel_that_the_parent_looks_for():
    assert profile_child.MARKER == paper_ncu.MARKER
    x = torch.ones(1)
    profile_child.profile_marker_kernel[(2,)](x)
    assert x.item() == 0
