"""Several GPUs that reach each other's memory: `on_ranks` is the learner's one verb.

`start.py` has it, `processes.py` keeps a process for each GPU, `process.py` is what runs there.
Without GPUs ranks are simulated (`tritonbook/simulating/ranks.py`).
"""
