"""Names of splits as shown to people, in the order of display."""

SPLITS = {
    "train": "training",
    "val": "validation",
    "id_val": "in-distribution validation",
    "id_test": "in-distribution test",
    "test": "test",
}
