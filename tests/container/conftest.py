import sys
from pathlib import Path

# The stand-in and the one-node Slurm are modules beside the tests.
sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "container: builds a root or runs Slurm; `make test-container`"
    )
