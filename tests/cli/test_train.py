from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from cli.runs import SMALL, assert_same_run, records, result
from gsina.files import locked
from gsina.training import loop


def test_a_run_from_options(gsina, tmp_path):
    done = gsina(*SMALL, "--bias", 0.7, "--set", "temperature=0.5", "--ratio", 0.3, "--epochs", 2)
    assert done.exit_code == 0
    assert "24 train" in done.output
    assert "gsina 2/2  loss" in done.output
    for split in ("training", "validation", "in-distribution test", "OOD test"):
        assert split in done.output
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"model: {folder.relative_to(tmp_path)}/model" in done.output
    recipe = result(folder)["recipe"]
    assert recipe["data"]["options"] == {"bias": 0.7, "num_per_class": 8}
    assert recipe["method"]["options"] == {"temperature": 0.5, "ratio": 0.3}
    assert recipe["optimiser"]["learning_rate"] == 3e-3  # from the published recipe
    assert recipe["selection"]["patience"] == 10
    assert len(records(folder)) == 2


def test_a_run_from_a_recipe_file(gsina, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        '[data]\nname = "spmotif"\noptions = {num_per_class = 4}\n'
        '[method]\nname = "erm"\n[optimiser]\nepochs = 1\n'
    )
    assert gsina("train", "--recipe", file, "--seed", 3, "--out", "erm").exit_code == 0
    assert result(Path("erm"))["seed"] == 3
    assert result(Path("erm"))["recipe"]["method"]["name"] == "erm"


def test_a_recipe_is_shown_as_the_file_that_trains_the_same(gsina, tmp_path):
    shown = gsina("train", "spmotif", "--bias", 0.7, "--backbone", "pna", "--show-recipe").output
    assert "ratio = 0.3" in shown  # what was published for PNA at this bias
    assert "#" not in shown
    file = tmp_path / "mine.toml"
    file.write_text(shown)
    assert gsina("train", "--recipe", file, "--show-recipe").output == shown
    assert not (tmp_path / "runs").exists()
    for option in (["--seed", 3], ["--out", "here"], ["--force"]):
        wrong = gsina("train", "spmotif", "--show-recipe", *option)
        assert f"{option[0]} is not part of a recipe" in wrong.stderr
    assert (
        "cannot predict labels of nodes"
        in gsina("train", "twitch", "--method", "dir", "--show-recipe").stderr
    )
    file.write_text("\ufeff" + shown, encoding="utf-8")
    assert gsina("train", "--recipe", file, "--show-recipe").output == shown
    file.write_text(shown, encoding="utf-16")
    assert "save it as UTF-8" in gsina("train", "--recipe", file, "--show-recipe").stderr
    file.write_text('[data]\nformat = "molecules"\n')
    assert "data.files: is missing" in gsina("train", "--recipe", file, "--show-recipe").stderr
    assert "there is no file" in gsina("train", "molecules.csv", "--show-recipe").stderr


def test_settings_that_were_not_published_are_called_so(gsina):
    note = "no published settings here for dir with gin on nci1"
    assert (
        note
        in gsina("train", "nci1", "--backbone", "gin", "--method", "dir", "--show-recipe").output
    )
    assert note.replace("nci1", "spmotif") in gsina(*SMALL, "--method", "dir", "--epochs", 1).output


def test_no_eligible_epoch_is_said(gsina):
    done = gsina(*SMALL, "--method", "gsat", "--epochs", 1)
    assert "no epoch could be selected (the rule strict-best counts from epoch 21)" in done.output


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["train"], ["name your file or a dataset, a --recipe"]),
        (["train", "--ratio", "0.3"], ["name your file or a dataset, a --recipe"]),
        (["train", "--out", "x", "--resume", "--ratio", "1"], ["ratio cannot be given too"]),
        (["train", "--out", "nowhere", "--resume"], ["there is no run in nowhere"]),
        (["train", "spmotif", "--method", "gsnia"], ["'gsnia'", "did you mean 'gsina'"]),
        (["train", "spmotif", "--backbone", "gni"], ["'gni'", "did you mean 'gin'"]),
        (["train", "spmotif", "--set", "ratoi=1"], ["method", "'ratoi'", "did you mean 'ratio'"]),
        (["train", "spmotif", "--set", "ratio=high"], ["method", "ratio", "number", "'high'"]),
        (["train", "spmotif", "--ratio", "1.5"], ["error: --ratio: ", "(0, 1]", "1.5"]),
        (["train", "spmotif", "--set", "noise=a"], ["error: --set noise: "]),
        (["train", "spmotif", "--epochs", "0"], ["error: --epochs: ", "got 0"]),
        (["train", "spmotif", "--data-option", "bais=1"], ["data", "did you mean 'bias'"]),
        (["train", "spmotif", "--bias", "1.5"], ["bias", "1/3", "1.5"]),
        (["train", "spmotif", "--resume", "--force"], ["give one of them"]),
        (["train", "spmotif", "--learning-rate", "-1"], ["error: --learning-rate: ", "-1"]),
        (["train", "spmotif", "--recipe", "x.toml"], ["--recipe", "dataset cannot be given"]),
        (["train", "--recipe", "no.toml"], ["no recipe file no.toml"]),
    ],
)
def test_bad_input_gets_one_sentence(gsina, arguments, parts):
    assert_sentence(gsina(*arguments), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('[data]\nname = "spmotif"\n[method]\nname = "erm"\n[optimizer]\n', ["'optimiser'"]),
        (
            '[data]\nname = "spmotif"\n[method]\nname = "erm"\n[optimiser]\nepoch = 3\n',
            ["optimiser.epoch", "did you mean 'epochs'"],
        ),
        (
            '[data]\nname = "spmotif"\n[method]\nname = "erm"\n[optimiser]\nepochs = "ten"\n',
            ["optimiser.epochs", "'ten'"],
        ),
        (
            '[data]\nname = "spmotif"\n[method]\nname = "gsina"\noptions = {ratio = 1.5}\n',
            ["method", "ratio must lie in (0, 1], got 1.5"],
        ),
        ('[data]\nname = "spmotif"\n', ["method"]),
        ("[data\n", ["not valid TOML"]),
    ],
)
def test_a_bad_recipe_gets_one_sentence_with_the_file_and_the_field(gsina, tmp_path, text, parts):
    (tmp_path / "mine.toml").write_text(text)
    assert_sentence(gsina("train", "--recipe", "mine.toml"), "mine.toml", *parts)


def assert_sentence(done, *parts):
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_a_traceback_only_on_request(gsina, monkeypatch):
    monkeypatch.setenv("GSINA_DEBUG", "1")
    with pytest.raises(ValueError, match="spmotfi"):
        gsina("train", "spmotfi")


def test_a_diverging_run_says_so(gsina):
    done = gsina(*SMALL, "--method", "erm", "--learning-rate", 1e30, "--epochs", 3)
    assert_sentence(done, "diverged in epoch", "learning rate")


def test_a_folder_in_use_is_not_overwritten(gsina, tmp_path):
    small = (*SMALL, "--method", "erm", "--out", "run")
    assert gsina(*small, "--epochs", 1).exit_code == 0
    before = result(tmp_path / "run")
    assert_sentence(gsina(*small), "holds a finished run", "--resume", "--out", "--force")
    assert_sentence(gsina(*small, "--seed", 1, "--resume"), "seed 0, not 1")
    assert_sentence(gsina(*small, "--bias", 0.9, "--resume"), "bias by default, not 0.9")
    assert result(tmp_path / "run") == before
    (tmp_path / "run" / "result.json").unlink()
    assert_sentence(gsina(*small), "holds an unfinished run")
    assert gsina(*small, "--seed", 1, "--epochs", 1, "--force").exit_code == 0
    assert result(tmp_path / "run")["seed"] == 1


def test_a_resumed_run_may_have_more_epochs(gsina, tmp_path):
    small = (*SMALL, "--method", "erm")
    gsina(*small, "--epochs", 4, "--out", "whole")
    gsina(*small, "--epochs", 2, "--out", "parts")
    done = gsina("train", "--out", "parts", "--resume", "--epochs", 4)
    assert "continuing after 2 epochs" in done.output
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def test_ctrl_c_before_the_first_epoch(gsina, monkeypatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "_epoch", stop)
    done = gsina(*SMALL, "--out", "run", "--threads", 1)
    assert done.exit_code == 130
    assert "0 whole epochs are saved in run" in done.output
    assert "train --out run --resume --threads 1" in done.output


def test_a_folder_that_cannot_be_made(gsina, tmp_path):
    (tmp_path / "file").write_text("")
    assert_sentence(gsina(*SMALL, "--out", "file/run"), "file/run")
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(gsina, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    assert_sentence(gsina(*SMALL, "--out", "locked"), "no access to locked", "with --out")


@pytest.mark.parametrize(
    ("number", "part"), [(errno.EROFS, "choose another folder"), (errno.ENOSPC, "no space left")]
)
def test_a_disk_that_refuses(gsina, monkeypatch, number, part):
    def refuse(path: Path, *_: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(loop, "save_checkpoint", refuse)
    assert_sentence(gsina(*SMALL, "--epochs", 1, "--out", "run"), part, "run")


def test_a_broken_note_of_the_run(gsina, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text(json.dumps({"seed": 0}))
    assert_sentence(gsina("train", "--out", "run", "--resume"), "there is no recipe file")
    (tmp_path / "run" / "run.json").write_text(json.dumps({"format": "two"}))
    assert_sentence(gsina("train", "--out", "run", "--resume"), "run.json", "is damaged")


@pytest.mark.parametrize("what", ["spmotif", "graphs.jsonl"])
def test_two_processes_do_not_train_into_one_folder(gsina, tmp_path, what):
    (tmp_path / "graphs.jsonl").write_text('{"edges": [[0, 1]], "y": 1}\n')
    with locked(tmp_path / "run" / ".lock") as mine:
        assert mine
        done = gsina("train", what, "--out", "run")
    assert done.exit_code == 2
    assert done.stderr == (
        "error: another process is training into run; wait for it, or choose another --out.\n"
    )
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_start_that_failed_leaves_no_folder(gsina, tmp_path):
    assert gsina("train", "spmotif", "--bias", 1.5, "--out", "run").exit_code == 2
    assert not (tmp_path / "run").exists()


def test_a_method_that_cannot_leaves_no_folder(gsina, tmp_path):
    small = ("--data-option", "num_per_class=3")
    refused = gsina("train", "spmotif", *small, "--method", "eerm", "--out", "run")
    assert refused.exit_code == 2
    assert "method eerm edits the neighbourhoods of nodes and cannot" in refused.stderr
    assert not (tmp_path / "run").exists()
