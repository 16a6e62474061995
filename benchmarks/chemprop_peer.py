"""chemprop 2 on a table of molecules: seconds per epoch and per prediction, in its own environment.

Run by :mod:`benchmarks.chemprop_speed` with the interpreter that has chemprop; it knows nothing of
gsina. Its network and training are chemprop's defaults, graphs kept between epochs as its command
does.
"""

from __future__ import annotations

import csv
import json
import sys
from time import process_time


def main(table_csv: str, new_csv: str, target: str, epochs: int) -> dict[str, object]:
    """Train on ``train``, validate on ``val``, predict ``test`` and a new table.

    Times are CPU seconds of one thread.
    """
    import logging

    import chemprop
    import torch
    from chemprop import data, models, nn
    from lightning import pytorch as pl

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with open(table_csv, newline="") as file:
        table = list(csv.DictReader(file))
    with open(new_csv, newline="") as file:
        new = list(csv.DictReader(file))

    def loader(rows: list[dict[str, str]], shuffle: bool = False, cache: bool = False) -> object:
        made = data.MoleculeDataset(
            [data.MoleculeDatapoint.from_smi(row["smiles"], [float(row[target])]) for row in rows]
        )
        made.cache = cache
        return data.build_dataloader(made, shuffle=shuffle)

    def part(name: str) -> list[dict[str, str]]:
        return [row for row in table if row["part"] == name]

    network = models.MPNN(
        nn.BondMessagePassing(), nn.MeanAggregation(), nn.BinaryClassificationFFN()
    )
    seconds: list[float] = []

    class Clock(pl.Callback):  # type: ignore[misc]
        def on_train_epoch_start(self, *_: object) -> None:
            self.began = process_time()

        def on_train_epoch_end(self, *_: object) -> None:
            seconds.append(process_time() - self.began)

    def trainer(**more: object) -> object:
        return pl.Trainer(
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
            **more,
        )

    def predicted(rows: list[dict[str, str]]) -> list[float]:
        found: list[float] = torch.cat(trainer().predict(network, loader(rows))).flatten().tolist()
        return found

    both = loader(part("train"), shuffle=True, cache=True), loader(part("val"), cache=True)
    trainer(max_epochs=epochs, callbacks=[Clock()]).fit(network, *both)
    answers = predicted(part("test"))
    began = process_time()
    predicted(new)
    return {
        "version": chemprop.__version__,
        "parameters": sum(one.numel() for one in network.parameters()),
        "epochs": seconds,
        "prediction": process_time() - began,
        "answers": answers,
    }


if __name__ == "__main__":
    result = main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
    print(json.dumps(result))
