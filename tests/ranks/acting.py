"""What stands in a rank's process in place of a GPU: it answers, dies, raises or never ends."""

import os
import time


def answer(request):
    number = int(os.environ["TRITONBOOK_RANK"])
    does = request["does"][number]
    if does == "dies":
        os._exit(3)
    if does == "raises":
        return {"error": "ValueError: no such tile"}
    if does == "waits":
        time.sleep(600)
    return {"number": number}
