"""Reading Nsight Compute's table: every number in its unit, holes as holes, each kernel's owner."""

import pytest
from paper_ncu import MARKER, OURS, PEER, kernel, output, two_providers

from benchmarks import counters


def test_chatter_units_and_digits_in_groups_are_read():
    """Kills: a table lost in ncu's chatter; 134,250,496 read as 134; units as a kernel."""
    rows = counters.parse(two_providers())
    assert [row["Kernel Name"] for row in rows][1::2] == ["rmsnorm_row_kernel", PEER]
    assert rows[1]["dram__bytes_read.sum"] == 134_250_496
    assert rows[1]["gpu__time_duration.sum"] == 94_176


def test_a_kernels_record():
    """Kills: a figure under another's name; half of the shared memory; stalls unsorted."""
    assert counters.record(counters.parse(two_providers())[1]) == {
        "name": "rmsnorm_row_kernel",
        "grid": [16384, 1, 1],
        "block": [256, 1, 1],
        "ns": 94_176,
        "registers": 38,
        "shared_bytes": 1056,
        "dram_read_bytes": 134_250_496,
        "dram_write_bytes": 67_108_864,
        "dram_percent": 88.5,
        "sm_percent": 21.75,
        "tensor_percent": 0,
        "occupancy_percent": 71.2,
        "l2_hit_percent": 33.41,
        "stalls": {"long_scoreboard": 60.0, "wait": 15.0, "barrier": 10.0},
    }


def test_what_a_gpu_lacks_leaves_a_hole():
    """Kills: n/a as a number, as zero, or as the end of the run."""
    found = counters.record(counters.parse(two_providers())[3])
    assert found.pop("ns") == 9000 and found.pop("stalls") == {}
    assert found.pop("name") == PEER and found.pop("grid") and found.pop("block")
    assert set(found.values()) == {None}


@pytest.mark.parametrize("hole", ["n/a", "(!) n/a", "nan", ""])
def test_every_way_of_having_no_value(hole):
    """Kills: NaN in the profiles file, which is no JSON."""
    figures = {**OURS, "sm__throughput.avg.pct_of_peak_sustained_elapsed": hole}
    (row,) = counters.parse(output(kernel(0, "k", **figures)))
    assert counters.record(row)["sm_percent"] is None


def test_scaled_units_come_back_to_base_units():
    """Kills: 12.5 us read as 12.5 ns, by an ncu that scales its figures."""
    text = two_providers().replace('"ns"', '"us"', 1).replace('"94,176"', '"94.176"')
    text = text.replace('"byte/block","byte/block"', '"Kbyte/block","byte/block"', 1)
    found = counters.record(counters.parse(text)[1])
    assert found["ns"] == pytest.approx(94_176) and found["shared_bytes"] == 1024_032


def test_a_table_without_units_loses_no_kernel():
    """Kills: a first kernel taken for the row of units."""
    lines = two_providers().splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith('"",'))
    assert len(counters.parse(text)) == 5


def test_no_table_is_no_kernel():
    assert counters.parse("==PROF== Connected\n==WARNING== No kernels were profiled.\n") == []


def test_kernels_go_to_the_provider_whose_marker_came_before():
    """Kills: a peer's kernel counted as ours; the markers counted as anyone's."""
    records = [counters.record(row) for row in counters.parse(two_providers())]
    found = counters.between(records, MARKER, ["rmsnorm", "torch", "idle"])
    names = {who: [counters.short(each["name"]) for each in mine] for who, mine in found.items()}
    assert names == {
        "rmsnorm": ["rmsnorm_row_kernel"],
        "torch": ["vectorized_layer_norm", "splitKreduce_kernel"],
        "idle": [],
    }


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("flash_fwd_kernel", "flash_fwd_kernel"),
        ("void at::native::reduce_kernel<512, 1, at::ReduceOp<float>>(T3)", "reduce_kernel"),
        ("void cutlass::device_kernel<a::B<(int)1>>(T1::Params)", "device_kernel"),
        (PEER, "vectorized_layer_norm"),
    ],
)
def test_short_names(name, short):
    assert counters.short(name) == short


def test_a_metric_that_ncu_lacks_gives_way_to_the_next_or_to_none():
    """Kills: a run that ends because one release of ncu renamed a metric."""
    log = (
        "==ERROR== Failed to find metric regex:^dram__bytes_read\\.(sum|min|max|avg)$\n"
        "==ERROR== Failed to find metric lts__t_sector_hit_rate.pct\n"
    )
    lacking = counters.unknown_metrics(log)
    assert lacking == {"dram__bytes_read", "lts__t_sector_hit_rate"}
    before, after = counters.wanted(), counters.wanted(lacking)
    assert "dram__bytes_op_read.sum" in after and "dram__bytes_read.sum" not in after
    assert len(after) == len(before) - 1
    assert counters.unknown_metrics("==PROF== Connected to process 1\n") == set()


def test_counters_that_the_machine_refuses_end_the_run():
    """Kills: one and the same refusal repeated for every problem."""
    denied = (
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
        "Performance Counters on the target device 0.\n"
    )
    with pytest.raises(counters.Refused, match="run as root"):
        counters.errors(denied)
    with pytest.raises(counters.Refused, match="LibraryNotLoaded"):
        counters.errors("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n")
    assert counters.errors("==PROF== x\n==ERROR== The application returned 1.\n") == [
        "The application returned 1."
    ]
