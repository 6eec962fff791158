from gpu_record import merged

HERE = {"gpu": "a GPU", "triton": "3.6.0"}
OLD = {
    "versions": HERE,
    "passed": {"a": "2026-01-01", "b": "2026-01-01"},
    "failed": {"c": "2026-01-01"},
}


def test_a_run_replaces_what_it_ran_and_keeps_the_rest():
    # Kills: a part run again that forgets the others; a test both passed and failed.
    now = merged(OLD, {"b": "failed", "c": "passed", "d": "passed"}, HERE, "2026-02-02")
    assert now["passed"] == {"a": "2026-01-01", "c": "2026-02-02", "d": "2026-02-02"}
    assert now["failed"] == {"b": "2026-02-02"}


def test_a_record_of_other_versions_is_dropped():
    # Kills: passes of another Triton counted for this one.
    now = merged(OLD, {"b": "passed"}, HERE | {"triton": "3.7.1"}, "2026-02-02")
    assert now["passed"] == {"b": "2026-02-02"} and now["failed"] == {}
    assert now["versions"]["triton"] == "3.7.1"
