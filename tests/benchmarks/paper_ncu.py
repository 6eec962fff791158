"""What Nsight Compute prints, for a GPU and kernels that exist on paper only."""

from benchmarks.counters import REASONS, STALL

MARKER = "profile_marker_kernel"
TABLE = (
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream"),
    *("Block Size", "Grid Size", "Device", "CC"),
)
COLUMNS = {
    "dram__bytes_read.sum": "byte",
    "dram__bytes_write.sum": "byte",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "gpu__time_duration.sum": "ns",
    "launch__registers_per_thread": "register/thread",
    "launch__shared_mem_per_block_dynamic": "byte/block",
    "launch__shared_mem_per_block_static": "byte/block",
    "lts__t_sector_hit_rate.pct": "%",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "%",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "%",
    **{STALL.format(reason): "inst" for reason in REASONS},
}
OURS = {
    "dram__bytes_read.sum": "134,250,496",
    "dram__bytes_write.sum": "67,108,864",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "88.50",
    "gpu__time_duration.sum": "94,176",
    "launch__registers_per_thread": "38",
    "launch__shared_mem_per_block_dynamic": "1,024",
    "launch__shared_mem_per_block_static": "32",
    "lts__t_sector_hit_rate.pct": "33.41",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "0",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "21.75",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "71.20",
    STALL.format("long_scoreboard"): "12.00",
    STALL.format("wait"): "3.00",
    STALL.format("barrier"): "2.00",
    STALL.format("drain"): "1.00",
    STALL.format("selected"): "1.00",
    STALL.format("not_selected"): "1.00",
}
PEER = "void (anonymous namespace)::native::vectorized_layer_norm<float, (int)4>(int, const T1 *)"


def kernel(number, name, grid="(16384, 1, 1)", block="(256, 1, 1)", **figures):
    """One line of the table; a metric without a figure is n/a."""
    fixed = (number, 4242, "python3.12", "127.0.0.1", name, 1, 7, block, grid, 0, "9.0")
    return _line(*fixed, *(figures.get(column, "n/a") for column in COLUMNS))


def _line(*cells):
    return ",".join(f'"{cell}"' for cell in cells)


def output(*kernels):
    """The whole of what ncu writes into its log."""
    chatter = [
        "==PROF== Connected to process 4242 (/usr/bin/python3.12)",
        *(
            f'==PROF== Profiling "k" - {i}: 0%....50%....100% - 14 passes'
            for i, _ in enumerate(kernels)
        ),
        "==PROF== Disconnected from process 4242",
    ]
    head = _line(*TABLE, *COLUMNS)
    units = _line(*[""] * len(TABLE), *COLUMNS.values())
    return "\n".join([*chatter, head, units, *kernels]) + "\n"


def marker(number, index):
    return kernel(number, MARKER, grid=f"({index}, 1, 1)", block="(128, 1, 1)")


def two_providers():
    """Ours with one kernel; a peer with two, of which ncu knows no counter."""
    return output(
        marker(0, 1),
        kernel(1, "rmsnorm_row_kernel", **OURS),
        marker(2, 2),
        kernel(3, PEER, **{"gpu__time_duration.sum": "9,000"}),
        kernel(4, "splitKreduce_kernel", **{"gpu__time_duration.sum": "1,000"}),
    )
