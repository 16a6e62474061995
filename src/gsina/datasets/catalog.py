"""The datasets of the package: plain data, so that they can be listed without importing torch.

One dataset is one module and one entry here.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gsina.datasets.registry import DATASETS, DatasetEntry, load_dataset, register
from gsina.files import data_dir

if TYPE_CHECKING:
    from gsina.graphs.task import Level

__all__ = ["DATASETS", "DatasetEntry", "load_dataset"]


def _at_hand(*files: str) -> bool:
    return all(any((data_dir() / form).is_file() for form in file.split("|")) for file in files)


def _add(
    name: str,
    loader: str,
    task: str,
    size: str,
    metric: str,
    shift: str,
    *files: str,
    arguments: tuple[str, ...] = (),
    level: Level = "graph",
    classes: tuple[str, ...] = (),
) -> None:
    """Add a dataset whose ``files`` lie below the data folder; ``|`` parts forms of one file."""
    loader, at_hand = f"gsina.datasets.{loader}", partial(_at_hand, *files)
    register(
        DatasetEntry(name, loader, task, size, metric, shift, at_hand, level, arguments, classes)
    )


_add(
    "ba2motifs",
    "ba2motifs:load",
    "which of two motifs is there, motif known",
    "1,000 graphs",
    "accuracy",
    "none (random split)",
    "ba2motifs/BA_2Motifs.npz|ba2motifs/BA_2Motifs.pkl",
    classes=("cycle", "house"),
)
_mnist = tuple(
    f"mnist/{_part}-ubyte.gz"
    for _part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
)
_add(
    "mnist-75sp",
    "images.mnist75sp:load",
    "which of ten digits, on superpixels",
    "35,000 graphs",
    "accuracy",
    "none (new images)",
    *_mnist,
)
_add(
    "mutagenicity",
    "mutagenicity:load",
    "mutagenic or not, with labelled NO2 and NH2 groups",
    "4,337 molecules",
    "accuracy",
    "none (random split)",
    "tu/Mutagenicity_edge_gt.zip",
    classes=("mutagen", "nonmutagen"),
)
for _name, _molecules, _task in (
    ("hiv", "41,127", "1 label: inhibits HIV replication"),
    ("bace", "1,513", "1 label: inhibits human beta-secretase 1"),
    ("bbbp", "2,039", "1 label: passes the blood-brain barrier"),
    ("clintox", "1,478", "2 labels: approved by the FDA; toxic in clinical trials"),
    ("tox21", "7,831", "12 labels: 12 assays of toxicity"),
    ("sider", "1,427", "27 labels: 27 kinds of side effects"),
):
    _add(
        f"ogbg-mol{_name}",
        "ogbg:load",
        f"binary, {_task}",
        f"{_molecules} molecules",
        "roc_auc",
        "scaffold",
        f"ogb/ogbg_mol{_name}/mapping/mol.csv.gz|ogb/{_name}.zip",
        arguments=(f"ogbg-mol{_name}",),
    )
_add(
    "spmotif",
    "spmotif:load",
    "which motif (3 classes)",
    "18,000 + 3,000 in distribution",
    "accuracy",
    "base correlates with the class in training only; larger graphs in test",
    classes=("cycle", "house", "crane"),
)
for _name, _cause in (("struc", "the base"), ("mixed", "the base and the features")):
    _add(
        f"spmotif-{_name}",
        "ciga_motifs:load",
        "which motif (3 classes)",
        "15,000 + 3,000 in distribution",
        "accuracy",
        f"class correlates with {_cause} in training only; larger graphs in test",
        arguments=(_name,),
        classes=("cycle", "house", "crane"),
    )
_sides = ("negative", "positive")
_grades = ("very negative", "negative", "neutral", "positive", "very positive")
for _name, _size, _task, _classes, _files in (
    (
        "sst2",
        "42,961 sentences",
        "positive or negative sentence",
        _sides,
        "train.tsv dev.tsv test.tsv",
    ),
    ("sst5", "7,678 sentences", "five grades of sentiment", _grades, "train.txt dev.txt test.txt"),
    ("twitter", "4,430 tweets", "sentiment towards a target", _grades[1:4], "train.raw test.raw"),
):
    _add(
        f"{_name}-text",
        "text.text_graphs:load",
        f"{_task} (GloVe vectors, word order)",
        _size,
        "accuracy",
        "sentence length",
        "sentiment/glove100_sst_twitter.npz",
        *(f"sentiment/{_name}/{_file}.gz" for _file in _files.split()),
        arguments=(f"{_name}-text",),
        classes=_classes,
    )
for _name, _loader, _arguments, _size, _task, _shift in (
    (
        "SST2",
        "text.sentigraph:load_sst2",
        (),
        "43,779",
        "positive or negative sentence (BERT vectors, parse trees)",
        "sentence length (mean degree)",
    ),
    (
        "SST5",
        "degree_shift:load",
        ("graph-sst5",),
        "9,516",
        "five grades of sentiment (BERT vectors, parses)",
        "mean degree (short sentences in training, long in test)",
    ),
    (
        "Twitter",
        "degree_shift:load",
        ("graph-twitter",),
        "5,441",
        "sentiment of a tweet (BERT vectors, parses)",
        "mean degree (long tweets in training, short in test)",
    ),
):
    _dump = f"sentigraph/Graph-{_name}/raw/Graph-{_name}"
    _add(
        f"graph-{_name.lower()}",
        _loader,
        _task,
        f"{_size} sentences",
        "accuracy",
        _shift,
        *(f"{_dump}_{_part}.txt" for _part in ("node_indicator", "edge_index", "graph_labels")),
        f"{_dump}_node_features.pkl|{_dump}_node_features.npy",
        arguments=_arguments,
    )
for _name, _shift, _sizes in (
    ("assay", "many molecules in training, few in test", ("9,602", "72,239")),
    ("scaffold", "large ones in training, small ones in test", ("7,635", "59,608")),
    ("size", "large molecules in training, small ones in test", ("9,395", "70,672")),
):
    for _measure, _size in zip(("ec50", "ic50"), _sizes, strict=True):
        _file = f"drugood/lbap_core_{_measure}_{_name}.json"
        _add(
            f"drugood-{_measure}-{_name}",
            "drugood:load",
            f"ligand binds or not ({_measure.upper()})",
            f"{_size} molecules",
            "roc_auc",
            f"{_name}: {_shift}",
            f"{_file}|{_file}.gz",
            arguments=(_measure, _name),
        )
for _name, _size, _task in (
    ("NCI1", "4,110", "active against lung cancer cells or not"),
    ("NCI109", "4,127", "active against ovarian cancer cells or not"),
    ("PROTEINS", "1,113", "enzyme or not"),
    ("DD", "1,178", "enzyme or not"),
):
    _add(
        _name.lower(),
        "size_shift:load",
        _task,
        f"{_size} graphs, about 60 % used",
        "mcc",
        "size: small graphs for training, large ones for test",
        f"tu/{_name}.zip",
        arguments=(_name.lower(),),
    )
_cora = tuple(f"planetoid/ind.cora.{_part}" for _part in ("allx", "tx", "graph", "test.index"))
for _name, _size, _paths in (
    ("cora", "2,708 papers", _cora),
    ("photo", "7,650 products", ("amazon/amazon_electronics_photo.npz",)),
):
    _add(
        _name,
        "nodes.artificial_shift:load",
        "invented class of every node",
        f"10 graphs of {_size}",
        "accuracy",
        "spurious features of nodes",
        *_paths,
        arguments=(_name,),
        level="node",
    )
_twitch = tuple(
    "|".join(f"twitch/{_country}/musae_{_country}{_end}" for _end in _ends.split("|"))
    for _country in ("DE", "ENGB", "ES", "FR", "PTBR", "RU", "TW")
    for _ends in ("_edges.csv", "_target.csv", "_features.json|_features.json.gz|.json")
)
_add(
    "twitch",
    "nodes.twitch:load",
    "does a streamer use explicit language",
    "7 graphs of 1,912 to 9,498 streamers",
    "roc_auc",
    "country",
    *_twitch,
    level="node",
)
_add(
    "facebook100",
    "nodes.facebook100:load",
    "gender of a student",
    "8 graphs of 769 to 41,554 people",
    "accuracy",
    "school",
    *(
        f"facebook100/{_school}.mat"
        for _school in ("Johns Hopkins55", "Caltech36", "Amherst41", "Cornell5", "Yale4")
    ),
    level="node",
)
_add(
    "elliptic",
    "nodes.elliptic:load",
    "is a bitcoin transaction illicit",
    "43 graphs, 203,769 transactions",
    "f1",
    "time",
    *(
        f"elliptic/elliptic_txs_{_part}.csv|elliptic/elliptic_txs_{_part}.csv.zip"
        for _part in ("features", "edgelist", "classes")
    ),
    level="node",
    classes=("licit", "illicit"),
)
_add(
    "ogbn-arxiv",
    "nodes.arxiv:load",
    "subject of a paper, 40 classes",
    "5 graphs of 17,401 to 169,343 papers",
    "accuracy",
    "time",
    *(
        f"ogb/ogbn_arxiv/raw/{_part}.csv.gz|ogb/arxiv.zip"
        for _part in (
            ["edge", "node-feat", "node-label", "node_year", "num-node-list", "num-edge-list"]
        )
    ),
    level="node",
)
_shifts = "covariate, concept or none; domain: {}"
for _name, _task, _size, _metric, _domain, _paths, _node, _labels in (
    (
        "motif",
        "which motif (3 classes); GOOD-Motif, rebuilt",
        "30,000 graphs",
        "accuracy",
        "basis or size",
        (),
        False,
        ("cycle", "house", "crane"),
    ),
    (
        "cmnist",
        "which of ten digits, on coloured superpixels; GOOD-CMNIST, rebuilt",
        "70,000 graphs",
        "accuracy",
        "colour",
        _mnist,
        False,
        (),
    ),
    (
        "hiv",
        "binary, inhibits HIV replication; GOOD-HIV, rebuilt",
        "41,127 molecules",
        "roc_auc",
        "scaffold or size",
        ("ogb/ogbg_molhiv/mapping/mol.csv.gz|ogb/hiv.zip",),
        False,
        (),
    ),
    (
        "twitch",
        "does a streamer use explicit language; GOOD-Twitch, rebuilt",
        "6 graphs of 1,912 to 9,498 streamers",
        "roc_auc",
        "language",
        _twitch,
        True,
        (),
    ),
    (
        "cbas",
        "where in a house is a node (4 classes); like GOOD-CBAS",
        "1 graph of 700 nodes",
        "accuracy",
        "colour",
        (),
        True,
        ("base", "middle", "bottom", "top"),
    ),
):
    _add(
        f"good-{_name}",
        f"good.{_name}:load",
        _task,
        _size,
        _metric,
        _shifts.format(_domain),
        *_paths,
        level="node" if _node else "graph",
        classes=_labels,
    )
