"""Run the examples and write them, with what they print, as pages: ``python -m examples``.

A script is made of cells, as editors and notebooks know them: ``# %% [markdown]`` begins text,
``# %%`` begins code. Pictures that a text shows are taken along.
"""

import io
import os
import re
import shutil
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

FOLDER = Path(__file__).parent
PAGES = FOLDER.parent / "docs" / "examples"
#: In the order in which they are best read.
NAMES = (
    "molecules_from_a_csv",
    "attention_in_your_own_gnn",
    "soft_top_r",
    "attention_or_explainer",
    "your_own_method",
    "train_spmotif",
)
OUT = "runs/examples/"
MARK = re.compile(r"^# %%(.*)\n", re.MULTILINE)
OUTPUT = re.compile(r"```text\n.*?```\n\n", re.DOTALL)


def cells(script):
    """Title of a script, and its cells as (whether it is code, content, first line)."""
    head, *parts = MARK.split(script)
    found = []
    for kind, content in zip(parts[::2], parts[1::2], strict=True):
        line = script[: script.index(content)].count("\n")
        code = "markdown" not in kind
        text = content if code else re.sub(r"^# ?", "", content, flags=re.MULTILINE)
        found.append((code, text.strip("\n"), line))
    return head.strip().strip('"'), found


def run(path, folder):
    """What every code cell of a script prints; files go into ``folder``."""
    names = {"__name__": "__main__", "__file__": str(path)}
    printed = []
    with chdir(folder):
        for code, content, line in cells(path.read_text(encoding="utf-8"))[1]:
            if code:
                with redirect_stdout(io.StringIO()) as output:
                    exec(compile("\n" * line + content, str(path), "exec"), names)
                printed.append(output.getvalue())
    return printed


def page(path, printed=()):
    """A script as Markdown, with what its code cells have printed."""
    title, parts = cells(path.read_text(encoding="utf-8"))
    outputs = iter(printed)
    heading, _, rest = (part.strip() for part in title.partition(":"))
    text = [f"# {heading.rstrip('.')}", *([rest[0].upper() + rest[1:]] if rest else [])]
    for code, content, _ in parts:
        text.append(f"```python\n{content}\n```" if code else content.replace(f"]({OUT}", "](img/"))
        output = next(outputs, "").rstrip() if code else ""
        text += [f"```text\n{output}\n```"] if output else []
    return "\n\n".join([*text, f"*The script: [{path.name}](../../examples/{path.name}).*"]) + "\n"


def without_outputs(text):
    """A page without what the cells have printed: all that depends on the script alone."""
    return OUTPUT.sub("", text)


def index():
    """The page that lists the others."""
    lines = [
        f"- [{cells((FOLDER / f'{name}.py').read_text())[0].rstrip('.')}]({name}.md)"
        for name in NAMES
    ]
    told = "Scripts that run in a few seconds, with what they print; made by `make docs`."
    return "\n".join(["# Examples", "", told, "", *lines]) + "\n"


def main():
    os.environ["GSINA_DATA"] = "none"  # the pages show what runs everywhere
    (PAGES / "img").mkdir(parents=True, exist_ok=True)
    (PAGES / "README.md").write_text(index(), encoding="utf-8")
    for name in sys.argv[1:] or NAMES:
        path = FOLDER / f"{name}.py"
        with tempfile.TemporaryDirectory() as folder:
            text = page(path, run(path, folder))
            for picture in re.findall(r"\]\(img/([^)]+)\)", text):
                shutil.copy(Path(folder) / OUT / picture, PAGES / "img" / picture)
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"docs/examples/{name}.md")


if __name__ == "__main__":
    main()
