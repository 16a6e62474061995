"""Train GSINA from Python: a recipe in, a model, its numbers and a picture out."""

from pathlib import Path

import torch

from gsina.experiments.published import default_recipe
from gsina.experiments.run import run
from gsina.explain.pictures import draw_subgraphs
from gsina.training import predict


def main(out: Path = Path("runs/example"), per_class: int = 300, epochs: int = 5) -> None:
    recipe = default_recipe(
        "spmotif",
        "gin",
        "gsina",
        data={"bias": 0.5, "num_per_class": per_class},  # leave num_per_class out for all graphs
        options={"ratio": 0.6},
        epochs=epochs,
    )
    finished = run(
        recipe,
        seed=0,
        out=out,
        on_epoch=lambda record: print(
            f"epoch {record['epoch']}: val accuracy {record['val']['accuracy']:.3f}"
        ),
    )
    for split, metrics in finished.result["metrics"].items():
        print(f"{split:8} accuracy {metrics['accuracy']:.3f}")

    graphs = finished.dataset.splits["id_test"]
    draw_subgraphs(graphs, predict(finished.method, graphs), out / "subgraphs.png")
    print(f"weights, result and picture are in {out}")


if __name__ == "__main__":
    torch.set_num_threads(1)  # batches of small graphs gain nothing from more
    main()
