"""What the files in the folder of a run are called; nothing here needs torch."""

RUN, RECIPE, RESULT, REPORT = "run.json", "recipe.toml", "result.json", "report.html"
UNREADABLE, PREDICTIONS, MODEL = "unreadable.csv", "predictions.csv", "model"
BASELINES = "baselines"
#: Held by the process that trains into the folder.
LOCK = ".lock"
#: The weights of a run of version 0.1 on a named dataset.
OLD_WEIGHTS = "model.safetensors"
