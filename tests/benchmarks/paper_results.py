"""A results file of a GPU that exists on paper only."""


def row(name, ms, ours=False, **more):
    return {
        "name": name,
        "ours": ours,
        "state": "timed",
        "ms": ms,
        "turns_ms": [ms, ms],
        "low": 0.9 * ms,
        "high": 1.1 * ms,
        "percent": 50.0,
        "device_ms": None,
        **more,
    }


def stored(*rows, gpu="Paper GPU", targets=(), flops=0.0):
    """A results file with one operation `double` and one problem `200 fp32`."""
    problem = {
        "label": "200 fp32",
        "bytes": 1e9,
        "flops": flops,
        "rows": list(rows),
        "targets": list(targets),
    }
    entry = {
        "notebook": "00_none",
        "date": "2026-01-01",
        "versions": {"torch": "9.9", "triton": "8.8", "python": "3.99"},
        "ceilings": {"copy_gbps": 1000.0, "fp16_tflops": 100.0, "gpu": gpu, "measured": ""},
        "problems": [problem],
    }
    return {"gpu": gpu, "ops": {"double": entry}}
