"""A fault's sentences in Chinese."""

import re

from tritonbook import words


def in_chinese(fault):
    with words.speaking("zh"):
        return words.say(f"{fault}.")


def is_chinese(fault):
    """No two English words in a row, outside code."""
    rest = re.sub(r"`[^`]*`", "", in_chinese(fault))
    return not re.search(r"\b(?!rank\b|program\b)[a-z]+ +(?!rank\b|program\b)[a-z]+\b", rest)
