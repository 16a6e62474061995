"""Run the examples and write them, with what they print, as pages and notebooks.

The command is ``python -m examples``.

A script is made of cells, as editors and notebooks know them: ``# %% [markdown]`` begins text,
``# %%`` begins code. Pictures that a text shows are taken along.
"""

import io
import json
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
#: What a code cell of a notebook has that was not run in it.
UNRUN = {"execution_count": None, "outputs": []}
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
    files = ", ".join(f"[{name}](../../examples/{name})" for name in _files(path))
    return "\n\n".join([*text, f"*To run it: {files}.*"]) + "\n"


def _files(path):
    return [path.name, path.with_suffix(".ipynb").name]


def without_outputs(text):
    """A page without what the cells have printed: all that depends on the script alone."""
    return OUTPUT.sub("", text)


def index():
    """The page that lists the others."""
    rows = []
    for name in NAMES:
        heading, _, rest = cells((FOLDER / f"{name}.py").read_text(encoding="utf-8"))[0].partition(
            ":"
        )
        files = f"[script](../../examples/{name}.py), [notebook](../../examples/{name}.ipynb)"
        rows.append(f"| [{heading}]({name}.md) | {rest.strip().rstrip('.')} | {files} |")
    told = "Scripts that run in a few seconds, with what they print; made by `make docs`."
    table = ["| tutorial | what it shows | to run |", "|---|---|---|", *rows]
    return "\n".join(["# Tutorials", "", told, "", *table]) + "\n"


def notebook(path, printed=()):
    """A script as a notebook, with what its code cells have printed."""
    title, parts = cells(path.read_text(encoding="utf-8"))
    outputs = iter(printed)
    made = [_cell("markdown", f"# {title}", 0), *_data_cells(path)]
    for code, content, line in parts:
        content = content.replace("Path(__file__).parent", "Path()")
        made.append(_cell("code" if code else "markdown", content, line))
        if code:
            output = next(outputs, "")
            stream = {"name": "stdout", "output_type": "stream", "text": output.splitlines(True)}
            made[-1] |= UNRUN | {"outputs": [stream] if output else []}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _data_cells(path):
    """Cells that write the data files of a script beside the notebook, so that it runs anywhere."""
    for name in re.findall(r'"data" / "([^"]+)"', path.read_text(encoding="utf-8")):
        if (FOLDER / "data" / name).exists():
            text = (FOLDER / "data" / name).read_text(encoding="utf-8")
            write = f'Path("data/{name}").write_text("""{text}""", encoding="utf-8")'
            begin = 'from pathlib import Path\n\nPath("data").mkdir(exist_ok=True)\n'
            yield _cell("code", begin + write, 0) | {"id": name.replace(".", "-")} | UNRUN


def _cell(kind, content, line):
    source = content.splitlines(True)
    return {"cell_type": kind, "id": f"line-{line}", "metadata": {}, "source": source}


def main():
    os.environ["GSINA_DATA"] = "none"  # the pages show what runs everywhere
    (PAGES / "img").mkdir(parents=True, exist_ok=True)
    (PAGES / "README.md").write_text(index(), encoding="utf-8")
    for name in sys.argv[1:] or NAMES:
        path = FOLDER / f"{name}.py"
        with tempfile.TemporaryDirectory() as folder:
            printed = run(path, folder)
            text = page(path, printed)
            for picture in re.findall(r"\]\(img/([^)]+)\)", text):
                shutil.copy(Path(folder) / OUT / picture, PAGES / "img" / picture)
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
        path.with_suffix(".ipynb").write_text(notebook(path, printed), encoding="utf-8")
        print(f"docs/examples/{name}.md, examples/{name}.ipynb")


if __name__ == "__main__":
    main()
