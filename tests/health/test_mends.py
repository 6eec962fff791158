"""Each mend, tried: a machine is made with the fault, the doctor's own command is run, and it is
asked again."""

import mmap
import os
import shutil
import subprocess
import sys

import pytest
from tried import apart, judged, namespaces

from tritonbook.home import takes_programs, triton_cache

pytestmark = pytest.mark.skipif(
    not namespaces(), reason="no namespaces with mounts of their own here"
)
LIBCUDA = "echo 'int cuInit(void) { return 0; }' > $OUT/c.c && gcc -shared -Wl,-soname,libcuda.so.1"


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_a_home_that_forbids_programs_gets_another_folder(out):
    """Kills: a mend that names the very folder that is at fault."""
    home = out.parent / "home"
    home.mkdir()
    script = f"mount -t tmpfs -o noexec tmpfs {home}"
    before, after = judged(out, "cache", script, HOME=str(home))
    assert before[0] == "problem" and "forbids programs (noexec)" in before[1]
    assert after[0] == "ok" and str(home) not in after[1]


@pytest.mark.parametrize("setting", ["TMPDIR", "TRITON_CACHE_DIR"])
def test_a_full_disk_gets_another_folder(out, setting):
    """Kills: a disk of /tmp that is full, and home folders that are to be emptied."""
    small = out.parent / "small"
    small.mkdir()
    script = f"mount -t tmpfs -o size=1M tmpfs {small}; head -c 900000 /dev/zero > {small}/big"
    name = {"TMPDIR": "disk", "TRITON_CACHE_DIR": "cache"}[setting]
    before, after = judged(out, name, script, **{setting: str(small)})
    assert before[0] == "problem" and "No space left on device" in before[1], before
    assert str(small) not in before[2].replace(before[1], "")
    assert after[0] == "ok", after


def test_a_little_room_is_too_little(out):
    small = out.parent / "small"
    small.mkdir()
    script = f"mount -t tmpfs -o size=64M tmpfs {small}"
    before, after = judged(out, "disk", script, TMPDIR=str(small))
    assert before[0] == "problem" and f"The disk of {small} is full" in before[1]
    assert after[0] == "ok", after


def test_a_read_only_home_gets_another_folder(out):
    home = out.parent / "home"
    home.mkdir()
    script = f"mount -t tmpfs -o ro tmpfs {home}"
    before, after = judged(out, "cache", script, HOME=str(home))
    assert before[0] == "problem" and "Read-only file system" in before[1]
    assert after[0] == "ok", after


@pytest.mark.skipif(
    not shutil.which("mkfs.btrfs") or os.geteuid() != 0,
    reason="needs btrfs, and root to mount one: its quotas need nothing else",
)
def test_a_quota_that_is_used_up_is_seen_where_the_disk_has_room(out):
    """Kills: a quota that is judged by the room on its disk."""
    disk, home = out.parent / "disk", out.parent / "home"
    home.mkdir()
    script = f"""
truncate -s 512M {disk} && mkfs.btrfs -q {disk} && mount -o loop {disk} {home}
btrfs quota enable {home} && btrfs subvolume create {home}/you > /dev/null
btrfs qgroup limit 256K {home}/you"""
    before, after = judged(out, "cache", script, HOME=f"{home}/you")
    assert before[0] == "problem" and "Disk quota exceeded" in before[1], before
    assert after[0] == "ok", after


@pytest.mark.parametrize("named", ["/nowhere/gcc", "", "gcc -O2", "/bin/false"])
def test_a_compiler_that_CC_names_wrongly_is_not_named_any_more(out, named):
    """Kills: "there is no C compiler" beside one, because CC names another."""
    before, after = judged(out, "compiler", CC=named)
    assert before[0] == "problem" and before[2].startswith("unset CC")
    assert after[0] == "ok", after


def test_no_compiler_at_all(out):
    """An empty PATH: the doctor itself needs nothing from there."""
    before, _ = judged(out, "compiler", PATH="")
    assert before[0] == "problem" and "no C compiler" in before[1]


def test_a_compiler_without_its_headers_is_no_compiler(out):
    """Kills: gcc in a slim image, which has no libc headers: "ok"."""
    before, _ = judged(out, "compiler", "mount -t tmpfs tmpfs /usr/include")
    assert before[0] == "problem" and "No such file" in before[1], before
    assert "libc6-dev" in before[2]


# Where the driver's library is, and what makes room for such a folder in a namespace.
FOLDERS = {
    "/usr/lib/wsl/lib": "lib",
    "/usr/local/nvidia/lib64": "local",
    "/usr/local/cuda/compat": "local",
}


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
@pytest.mark.parametrize("named", ["", "/nowhere"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_drivers_library_is_found_where_it_is(out, folder, named):
    """Kills: a folder that is a guess; a wrong TRITON_LIBCUDA_PATH that is "ready"."""
    script = f"""
mount -t tmpfs tmpfs /mnt && mkdir /mnt/up /mnt/work
mount -t overlay o -o lowerdir=/usr/{FOLDERS[folder]},upperdir=/mnt/up,workdir=/mnt/work \
/usr/{FOLDERS[folder]}
mkdir -p {folder} && {LIBCUDA} -o {folder}/libcuda.so.1 $OUT/c.c
ln -s libcuda.so.1 {folder}/libcuda.so"""
    variable = {"TRITON_LIBCUDA_PATH": named} if named else {}
    before, after = judged(out, "libcuda", script, **variable)
    assert before[0] == "problem", before
    assert f"export TRITON_LIBCUDA_PATH={folder}" in before[2]
    if named:  # the first thing to do is to take the wrong one away
        assert "names /nowhere" in before[1] and before[2].startswith("unset TRITON_LIBCUDA_PATH")
        assert after[0] == "problem" and after[2] == f"export TRITON_LIBCUDA_PATH={folder}"
    else:
        assert after == ["ok", f"libcuda.so.1: {folder}/libcuda.so.1.", ""]


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
def test_a_stub_is_no_driver(out):
    """Kills: the library of the CUDA toolkit that only looks like the driver's."""
    stubs, real = out.parent / "stubs", out.parent / "real"
    stubs.mkdir()
    real.mkdir()
    script = f"{LIBCUDA} -o {real}/libcuda.so.1 $OUT/c.c; cp {real}/libcuda.so.1 {stubs}"
    path = f"{stubs}:{real}"
    before, after = judged(out, "libcuda", script, LD_LIBRARY_PATH=path)
    assert before[0] == "problem" and "stub" in before[1]
    assert after == ["ok", f"libcuda.so.1: {real}/libcuda.so.1.", ""]


def test_the_mend_is_what_triton_itself_takes(out):
    """Kills: a rule of Triton's that is another one by now."""
    real = out / "real"
    real.mkdir()
    (real / "libcuda.so.1").write_text("")
    program = (
        "from triton.backends.nvidia.driver import libcuda_dirs as d; print(d());"
        "from tritonbook.health.hardware import libcuda; print(libcuda()[0])"
    )
    for variable in ("TRITON_LIBCUDA_PATH", "LD_LIBRARY_PATH"):
        env = {"PATH": "/usr/bin", variable: str(real)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True
        )
        assert done.stdout == f"['{real}']\n{real}/libcuda.so.1\n", done.stderr


@pytest.mark.parametrize(
    "mount", ["-o noexec tmpfs $HOME", "-o ro tmpfs $HOME", "-o ro tmpfs $HOME/.triton/cache"]
)
def test_the_set_up_cell_takes_another_cache_where_programs_can_be_kept(out, mount):
    """Kills: a cache that can be written, and from where no launcher is loaded; one whose parent
    alone can be written."""
    (out / ".triton" / "cache").mkdir(parents=True)

    def work():
        os.environ |= {"HOME": str(out), "TMPDIR": "/tmp"}
        for name in ("TRITON_CACHE_DIR", "TRITONBOOK_HOME", "XDG_DATA_HOME"):
            os.environ.pop(name, None)
        subprocess.run(["sh", "-c", f"mount -t tmpfs {mount}"], check=True)
        found = triton_cache()["TRITON_CACHE_DIR"]
        with open(f"{found}/x", "wb+") as file:
            file.write(bytes(mmap.PAGESIZE))
            file.flush()
            return found, takes_programs(file.fileno())

    said = apart(work, out.parent)["done"]
    assert said[1] and not (mount.endswith("HOME") and said[0].startswith(str(out)))
