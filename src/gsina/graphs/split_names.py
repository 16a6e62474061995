"""Names of splits, as people read them and in the order they are told."""

SPLITS = {
    "train": "training",
    "val": "validation",
    "id_test": "in-distribution test",
    "test": "test",
}
