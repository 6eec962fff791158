"""The text of a page that a test makes up."""

HEADER = """\
# ---
# workbook:
#   title: Toy
#   minutes: 5
#   needs: interpreter
#   requires: []
#   you_will:
#     - see
# ---
"""


def page_of(cells: str) -> str:
    return f"{HEADER}\n{cells}"
