"""Names of splits and metrics as people read them."""

from __future__ import annotations

SPLITS = {
    "train": "training",
    "val": "validation",
    "id_test": "in-distribution test",
    "test": "test",
}
METRICS = {
    "accuracy": "accuracy",
    "roc_auc": "ROC-AUC",
    "mcc": "MCC",
    "f1": "F1",
    "rmse": "RMSE",
    "r2": "R2",
    "explanation_auc": "explanation ROC-AUC",
    "precision_at_5": "precision@5",
}
