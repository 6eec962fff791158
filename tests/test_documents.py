"""What the documents promise is there: links, make verbs, commands, job scripts."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tritonbook import cli
from tritonbook.build import readme
from tritonbook.course.exercises import exercises

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    ROOT / name
    for name in (
        "README.md",
        "README.zh-CN.md",
        "CONTRIBUTING.md",
        "AGENTS.md",
        "CHANGELOG.md",
        "CHANGELOG.zh-CN.md",
        "docs/house.md",
        "singularity/README.md",
        "singularity/README.zh-CN.md",
        "autograde/README.zh-CN.md",
    )
]
VERBS = set(re.findall(r"(?m)^([a-z][a-z-]*):", (ROOT / "Makefile").read_text()))


def names(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_every_link_inside_the_repository_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_every_make_verb_exists(path):
    text = path.read_text()
    code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"(?ms)^```\n(.*?)^```", text)
    for line in "\n".join(code).splitlines():
        if line.startswith("make "):
            verbs = [word for word in line.split()[1:] if re.fullmatch(r"[a-z-]+", word)]
            assert set(verbs) <= VERBS, line


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_every_command_is_understood(path):
    parser = cli._parser()
    for command in re.findall(r"`tritonbook ([^`\n]+)`", path.read_text()):
        words = command.replace("FILE", "file.html").split()
        assert parser.parse_args(words).verb == words[0]


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_lines_can_be_read_in_an_editor(path):
    if ".zh-CN" in path.name:
        return  # a line's end would show as a space between two Chinese signs
    generated = re.sub(r"(?s)<!-- \w+: generated -->.*?<!-- end of \w+ -->", "", path.read_text())
    for line in generated.splitlines():
        assert len(line) <= 110 or "http" in line or line.startswith("|"), line


def test_the_four_readers_find_their_start_before_anything_else():
    start = (ROOT / "README.md").read_text().partition("## The notebooks")[0]
    for reader in ("Colab", "laptop without a GPU", "GPU box", "Slurm cluster"):
        assert reader in start
    chinese = (ROOT / "README.zh-CN.md").read_text().partition("## 全部页面")[0]
    for reader in ("ModelScope", "没有 GPU 的笔记本电脑", "有 GPU 的机器", "Slurm 集群"):
        assert reader in chinese
    assert len(start.splitlines()) <= 45  # one screen


def test_what_opens_the_repository_elsewhere_can_be_read():
    """Kills: a devcontainer or a workspace of CNB that does not parse, or asks for what is not
    there; gigabytes of CUDA in a container that has no GPU."""
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    (workspace,) = yaml.safe_load((ROOT / ".cnb.yml").read_text())["$"]["vscode"]
    commands = [container["postCreateCommand"], *(each["script"] for each in workspace["stages"])]
    assert all(command.split()[0] == "make" and command.split()[1] in VERBS for command in commands)
    assert (ROOT / workspace["docker"]["build"]).is_file()
    small = container["containerEnv"]["PIP_EXTRA_INDEX_URL"]
    assert f"PIP_EXTRA_INDEX_URL={small} make lab" in (ROOT / "README.md").read_text()


def test_the_readme_is_one_for_people():
    """Kills: a first page on which what to type stands below what was measured."""
    text = (ROOT / "README.md").read_text()
    by_hand = re.sub(r"(?s)<!-- \w+: generated -->.*?<!-- end of \w+ -->", "", text)
    assert len(by_hand.split()) <= 900
    order = ["docs/card.png", "\nmake lab", "\nmake test", "## The notebooks", "AGENTS.md"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)


def blocks(path):
    """What a translation leaves as it is, by kind: blocks of code, commands, images, levels of
    headings, and the sizes of lists and tables."""
    text = path.read_text()
    by_hand = re.sub(r"(?s)<!-- \w+: generated -->.*?<!-- end of \w+ -->", "", text)
    fences = re.findall(r"(?ms)^```.*?^```", by_hand)
    # Remarks behind a command are translated.
    fences = [re.sub(r"(?m) +#.*| *\"\"\".*", "", fence) for fence in fences]
    prose = re.sub(r"(?ms)^```.*?^```", "", by_hand)
    return {
        "fences": fences,
        "code": set(re.findall(r"`[^`]+`", " ".join(prose.split()))),
        "pictures": [src.replace(".zh.", ".") for src in re.findall(r'src="[^"]*"', prose)],
        "headings": re.findall(r"(?m)^#+(?= )", prose),
        "items": len(re.findall(r"(?m)^ *- ", prose)),
        "rows": len(re.findall(r"(?m)^\|", prose)),
    }


CHINESE = [path for path in DOCUMENTS if ".zh-CN" in path.name]


@pytest.mark.parametrize("path", CHINESE, ids=names)
def test_the_chinese_document_has_what_the_english_one_has(path):
    """Kills: a command that one of the two got alone; a row or an item that was left out."""
    english = path.with_name(path.name.replace(".zh-CN", ""))
    for kind, there in blocks(english).items():
        said = blocks(path)[kind]
        if kind == "code":
            assert there <= said, there - said
        else:
            assert said == there, kind


def test_both_readmes_lead_to_each_other_and_their_routes_agree():
    """Kills: a route that was changed in one language alone."""
    english, chinese = ((ROOT / name).read_text() for name in ("README.md", "README.zh-CN.md"))
    assert "](README.zh-CN.md)" in english[:100] and "](README.md)" in chinese[:100]
    routes = re.findall(r"- \*\*.*?\*\* \((\d+) hours\): (.*?)\.", english)
    chinese_routes = re.findall(r"- \*\*.*?\*\*（(\d+) 小时）：(.*?)。", chinese)
    numbers = [[hours, *re.findall(r"\d+", pages)] for hours, pages in routes]
    assert numbers == [[hours, *re.findall(r"\d+", pages)] for hours, pages in chinese_routes]


def test_a_document_that_changed_is_behind_in_chinese(tmp_path):
    """Kills: a Chinese guide that still says what the English one does not; one that is behind
    because of a new page or a release."""
    english, chinese = tmp_path / "README.md", tmp_path / "README.zh-CN.md"
    table = "<!-- t: generated -->\n{}\n<!-- end of t -->\nhttps://site/{}"
    english.write_text("Words.\n" + table.format(1, 1))
    chinese.write_text(f"<!-- of: {readme.mark(english.read_text())} -->\n词语。\n")
    english.write_text("Words.\n" + table.format(2, 2))
    assert not readme.behind(tmp_path)
    english.write_text("More words.\n" + table.format(2, 2))
    (error,) = readme.behind(tmp_path)
    assert error.path == chinese and readme.mark(english.read_text()) in str(error)


def test_the_hours_of_the_routes_are_those_of_their_pages():
    """Kills: a route with a page that is gone, or one that takes longer than it says."""
    minutes = {page.number: page.header.minutes for page in exercises(ROOT / "exercises")}
    text = (ROOT / "README.md").read_text()
    routes = re.findall(r"- \*\*.*?\*\* \((\d+) hours\): (.*?)\.", text)
    assert len(routes) == 3
    for hours, pages in routes:
        numbers: set[int] = set()
        for part in re.findall(r"parts (\d) to (\d)", pages):
            numbers |= {n for n in minutes if int(part[0]) <= n // 10 <= int(part[1])}
        pages = re.sub(r"parts \d to \d", "", pages)
        for first, last in re.findall(r"(\d\d)(?: to (\d\d))?", pages):
            numbers |= set(range(int(first), int(last or first) + 1))
        assert numbers <= set(minutes)
        assert round(sum(minutes[n] for n in numbers) / 60) == int(hours), pages


def test_the_house_has_the_files_that_its_page_names():
    """Kills: a map that still shows what was moved or renamed. The rooms may change, names not."""
    text = (ROOT / "docs" / "house.md").read_text().partition("## Where")[0]
    named = set(re.findall(r"`(\w+\.py)`", text))
    rooms = ("tritonbook", "autograde")
    there = {path.name for room in rooms for path in (ROOT / room).rglob("*.py")}
    assert len(named) > 20 and named <= there, named - there
