"""One way to run: whatever was trained, its folder holds the same and every command takes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.runs import result
from gsina.cli import app, show
from gsina.runs.recipe import Recipe
from page_cases import data_of

SMALL = ("spmotif", "--data-option", "num_per_class=6", "--batch-size", 8, "--epochs", 1)
FOLDER = {"recipe.toml", "run.json", "log.jsonl", "checkpoint.safetensors", "model", "result.json"}
FOLDER |= {"report.html"}


def molecules(path: Path, count: int = 24) -> Path:
    texts = ["CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCl", "c1ccncc1"]
    lines = [f"{'C' * (i // 6)}{texts[i % 6]},{i % 2},{i / 2}" for i in range(count)]
    path.write_text("\n".join(["smiles,active,value", *lines]) + "\n")
    return path


def graphs(path: Path, width: int = 4) -> Path:
    lines = [
        {"id": f"g{size}", "nodes": [[1.0] * width] * size, "edges": [[i, i + 1] for i in range(2)]}
        for size in (3, 4, 5)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_a_run_on_a_named_dataset_and_one_on_a_file_are_alike(gsina, tmp_path):
    molecules(tmp_path / "m.csv")
    assert gsina("train", *SMALL, "--out", "named").exit_code == 0
    assert (
        gsina("train", "m.csv", "--target", "active", "--epochs", 1, "--out", "file").exit_code == 0
    )
    named, file = result(tmp_path / "named"), result(tmp_path / "file")
    assert named.keys() == file.keys()
    assert {"commit", "hardware", "sessions", "versions", "targets", "notes"} <= file.keys()
    assert {"threads", "kernels", "device"} <= file["hardware"].keys()
    for folder, more in (("named", set()), ("file", {"baselines"})):
        assert {path.name for path in (tmp_path / folder).iterdir()} == FOLDER | more
        again = Recipe.read(tmp_path / folder / "recipe.toml")
        assert again == Recipe.parse(result(tmp_path / folder)["recipe"])
        names = [name for name, _ in data_of(tmp_path / folder / "report.html")["summary"]]
        assert ("split" in names) == (folder == "file")  # SPMotif comes divided


def test_every_run_predicts_and_explains(gsina, tmp_path):
    assert gsina("train", *SMALL, "--out", "named").exit_code == 0
    graphs(tmp_path / "new.jsonl")
    assert gsina("predict", "named", "new.jsonl", "--attention", "-o", "out.csv").exit_code == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 4
    assert "probability_cycle,probability_house,probability_crane" in lines[0]
    assert gsina("explain", "named", "new.jsonl", "-o", "page.html").exit_code == 0
    assert "g5" in (tmp_path / "page.html").read_text()
    graphs(tmp_path / "narrow.jsonl", width=2)
    wrong = gsina("predict", "named", "narrow.jsonl", "-o", "narrow.csv")
    assert wrong.exit_code == 1  # a bad row costs that row, and here all are bad
    assert "its nodes have 2 features" in (tmp_path / "narrow.csv").read_text()
    assert "its nodes have 2 features" in " ".join(wrong.output.split())
    nothing = gsina("explain", "named", "narrow.jsonl", "-o", "narrow.html")
    assert "its nodes have 2 features" in " ".join(nothing.output.split())


def test_galleries_of_runs_on_files(gsina, tmp_path):
    molecules(tmp_path / "m.csv")
    for name, target in (("classes", "active"), ("numbers", "value")):
        done = gsina("train", "m.csv", "--target", target, "--epochs", 1, "--out", name)
        assert done.exit_code == 0, done.output
    done = gsina("figure", "gallery", "classes", "--split", "train")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "classes" / "gallery.png").stat().st_size > 1000
    wrong = gsina("figure", "gallery", "numbers", "--split", "train")
    assert wrong.exit_code == 2
    assert "look at the report.html of its run" in " ".join(wrong.output.split())


def test_the_recipe_of_a_file_can_be_shown_and_run(gsina, tmp_path):
    molecules(tmp_path / "m.csv")
    shown = gsina("train", "m.csv", "--target", "active", "--epochs", 1, "--show-recipe")
    assert shown.exit_code == 0, shown.output
    (tmp_path / "mine.toml").write_text(shown.output)
    assert Recipe.read(tmp_path / "mine.toml").data.name == "m"
    assert gsina("train", "--recipe", "mine.toml", "--out", "run").exit_code == 0
    again = gsina("train", "--out", "run", "--resume", "--show-recipe")
    assert again.output == shown.output


def test_the_ratio_of_a_named_dataset_is_chosen(gsina, tmp_path):
    done = gsina("train", *SMALL, "--ratio", "auto", "--out", "run")
    assert done.exit_code == 0, done.output
    assert "was the best on validation data" in " ".join(done.output.split())
    assert result(tmp_path / "run")["ratios_tried"].keys() == {"0.3", "0.5", "0.7"}
    assert len((tmp_path / "run" / "log.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"format": "molecules", "fils": ["a.csv"]}, "did you mean 'files'"),
        ({"nam": "spmotif"}, "did you mean 'name'"),
        ({"format": "molecule", "files": ["a.csv"]}, "did you mean 'molecules'"),
        ({"format": "graphs", "files": ["a"], "options": {"split": 3}}, "data.options.split"),
    ],
)
def test_misspelt_fields_get_suggestions_from_the_right_model(values, said) -> None:
    with pytest.raises(ValueError, match=said):
        Recipe.parse({"data": values, "method": {"name": "erm"}})


def test_a_bug_shows_its_traceback_and_where_to_report_it(monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(show, "entries", broken)
    done = CliRunner().invoke(app, ["methods"])
    assert isinstance(done.exception, ZeroDivisionError)  # Python prints its traceback
    assert "this is a bug in gsina; please report it" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("train --epoch 1", "--epoch (Possible options: --epochs); see gsina train --help."),
        ("trian", "see gsina --help."),
        ("--foo", "no such option: --foo; see gsina --help."),
        ("predict", "missing argument 'run'; see gsina predict --help."),
        ("figure galery", "see gsina figure --help."),
        ("train a.csv --epochs x", "invalid value for '--epochs'"),
    ],
)
def test_a_typo_is_one_sentence_as_all_errors_are(wrong: str, said: str) -> None:
    done = CliRunner().invoke(app, wrong.split())
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def fails(call: Callable[..., object]) -> str:
    done = call()
    assert done.exit_code == 2
    return " ".join(done.output.split())


def test_a_recipe_that_needs_a_file_that_is_gone(gsina, tmp_path):
    molecules(tmp_path / "m.csv")
    assert (
        gsina("train", "m.csv", "--target", "active", "--epochs", 1, "--out", "run").exit_code == 0
    )
    (tmp_path / "m.csv").unlink()
    said = fails(lambda: gsina("train", "--out", "run", "--resume", "--epochs", 2))
    assert "m.csv" in said
    assert (tmp_path / "run" / "result.json").exists()


def test_a_start_that_failed_does_not_block_the_folder(gsina, tmp_path):
    molecules(tmp_path / "m.csv")
    (tmp_path / "out").mkdir()
    note = {"format": 2, "seed": 0, "fingerprint": "of another file"}
    (tmp_path / "out" / "run.json").write_text(json.dumps(note))
    (tmp_path / "out" / "unreadable.csv").write_text("row,reason")
    done = gsina("train", "m.csv", "--target", "active", "--epochs", 1, "--out", "out")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "out" / "unreadable.csv").exists()
    note = "{"
    (tmp_path / "out" / "run.json").write_text(note)
    assert "is damaged" in fails(lambda: gsina("train", "--out", "out", "--resume"))


def test_the_result_names_the_ratio_that_was_chosen(gsina, tmp_path):
    assert gsina("train", *SMALL, "--ratio", "auto", "--out", "run").exit_code == 0
    settings = result(tmp_path / "run")["method_settings"]
    model = json.loads((tmp_path / "run" / "model" / "model.json").read_text())
    assert settings["ratio"] == model["architecture"]["method_options"]["ratio"]
    assert "ratio" not in result(tmp_path / "run")["recipe"]["method"]["options"]
    assert "a search chooses the ratio itself" in fails(
        lambda: gsina("tune", *SMALL, "--set", "ratio=auto", "--out", "search")
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"format": "molecules", "files": ["a.csv"]}, "option smiles of molecules is missing"),
        ({"format": "molecules", "files": []}, "got 0 files, expected 1"),
        ({"format": "nodes", "files": ["a.csv"]}, "got 1 files, expected 2: nodes_csv, edges_csv"),
    ],
)
def test_recipes_for_files_that_lack_something(data, said) -> None:
    with pytest.raises(ValueError, match=said):
        Recipe.parse({"data": data, "method": {"name": "erm"}})
