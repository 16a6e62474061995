"""Checksums of raw files as they were read here, where the publisher states none.

A publisher may repack a file, so another checksum is noted and not refused
(:func:`gsina.datasets.raw.sources.checksum_notes`); files with an official checksum have it in
their :class:`~gsina.datasets.raw.sources.RawFile`.
"""

#: SHA-256 by path below the data folder.
KNOWN = {
    "ba2motifs/BA_2Motifs.npz": "5af27832d3405da288cad733710d733554d33b378356f9ee68f2bb3fc55fbf6f",
    "drugood/lbap_core_ec50_assay.json.gz": (
        "76a6751aa5ddf29d13772138a4400cd1ec19cb789ad7a9c6d6c6ae0254304ca0"
    ),
    "drugood/lbap_core_ec50_scaffold.json.gz": (
        "1d194cd1275e59f807200948d7c9712a22912654b04a1e6c18daafb1e462996f"
    ),
    "drugood/lbap_core_ec50_size.json.gz": (
        "d0dfe9c88d08087bf77061f03bdd8b0c3ffeab584e4c04e52fc8c54bd290cdde"
    ),
    "ogb/ogbg_molbace/mapping/mol.csv.gz": (
        "1c9a73e95d35ae19c3b68d7bf57075c7038c828bfe68481eec361be015243d99"
    ),
    "ogb/ogbg_molbace/split/scaffold/test.csv.gz": (
        "0c190411cfb6ed187364166655b003cc213a664a736cb0c377566231d25007d5"
    ),
    "ogb/ogbg_molbace/split/scaffold/train.csv.gz": (
        "28590c305f549f1df767cf505deb06766547c49604594ee19061caa859d7f08c"
    ),
    "ogb/ogbg_molbace/split/scaffold/valid.csv.gz": (
        "8780c7eb710ed4c74cef88c36f398a9c1a940dee560cece2812075702a6f7d43"
    ),
    "ogb/ogbg_molbbbp/mapping/mol.csv.gz": (
        "3498d2b4f8ca3ba9797a28041d0f77c07b95cfb2095fdbd1d3d64114bfcde556"
    ),
    "ogb/ogbg_molbbbp/split/scaffold/test.csv.gz": (
        "5113064c29acd2b8401a459ad03fd6c92de464d3a658392136e16c42d51cad66"
    ),
    "ogb/ogbg_molbbbp/split/scaffold/train.csv.gz": (
        "30e283721a05fe733a268f96b5567aa1079879ec7390bac82569fc00fa166bed"
    ),
    "ogb/ogbg_molbbbp/split/scaffold/valid.csv.gz": (
        "1a0ca9f3be2e431fff084ea4a135a7ea7b7255e0d2ddd567b7eefe145f73caee"
    ),
    "ogb/ogbg_molclintox/mapping/mol.csv.gz": (
        "0e8c779523660ba5efb3dffc6330d932bb9b24b30824a4c9d838a166ed04d93f"
    ),
    "ogb/ogbg_molclintox/split/scaffold/test.csv.gz": (
        "08e1fabb92e1b22d2fc000a5b9ceffab5bcf9da409789b1c7a8dc59c938aebd7"
    ),
    "ogb/ogbg_molclintox/split/scaffold/train.csv.gz": (
        "edadfd47acfff36343509ac14124f990de17ce75f3a6680ebb2207776792771a"
    ),
    "ogb/ogbg_molclintox/split/scaffold/valid.csv.gz": (
        "499a5cc7e3f7672629e41a53f081e4c78fa2a69201b2d93c1a9a66c92ab72b4b"
    ),
    "ogb/ogbg_molhiv/mapping/mol.csv.gz": (
        "88a3cd27a568a6abbdc4ce73d80a62a4e80c8ffb55672d31a5a0010f96dff8e9"
    ),
    "ogb/ogbg_molhiv/split/scaffold/test.csv.gz": (
        "74ca4d17740c4f22ba6c5c44dd9cdbac1efdc76ba40659d4cf41ac42201331b6"
    ),
    "ogb/ogbg_molhiv/split/scaffold/train.csv.gz": (
        "326d870de0997ca17d8778fa7565a9b0f9104eb99e484f5a476ac6314aa81386"
    ),
    "ogb/ogbg_molhiv/split/scaffold/valid.csv.gz": (
        "9d31975e67ebf6cfddefd6055b5ec6bb9b6c8b4d92d84a9044c55391e2d7fc3e"
    ),
    "ogb/ogbg_molsider/mapping/mol.csv.gz": (
        "a465fa03bc852032be0e53e07e13934b271ea712bc9e56dea7e2989fc7c40a92"
    ),
    "ogb/ogbg_molsider/split/scaffold/test.csv.gz": (
        "afd5603e3af06b1bc7de80cc6ad8ac875c3c17a57774870a04193a7762d333e4"
    ),
    "ogb/ogbg_molsider/split/scaffold/train.csv.gz": (
        "c5991a173bb2c6d8ce91a5cdea09cfbbe4b09e2beac9ed0d8896561cc85d3d84"
    ),
    "ogb/ogbg_molsider/split/scaffold/valid.csv.gz": (
        "3fe98a54db3ebe4ed233072b5a403e498e2c7f5d671010377ce816e4d889d976"
    ),
    "ogb/ogbg_moltox21/mapping/mol.csv.gz": (
        "f579bd10a00abbb8820e229de50737a58ed296a56cb68df0534209285cdf5d38"
    ),
    "ogb/ogbg_moltox21/split/scaffold/test.csv.gz": (
        "d2bfd2fe8f9b44bd6ef21df7f9b19dd9dd960910ba4a9cdb4b2991579fb2907a"
    ),
    "ogb/ogbg_moltox21/split/scaffold/train.csv.gz": (
        "40d6072f2b68ca2b264d8cd06102052cce4db94c54efb2ca5369317a766594e9"
    ),
    "ogb/ogbg_moltox21/split/scaffold/valid.csv.gz": (
        "b8eef78bbc5401b9cd0578efedbcac71598beb79a787fee7d640d54a24405fda"
    ),
    "tu/DD.zip": "0190b77c774073215f658ffed5eca0c8f61925a5213a7b36daeb8bf22e52c90d",
    "tu/Mutagenicity_edge_gt.zip": (
        "20c0134bad28fa23a1dd928c6cf5afa6b6f1db10758d8622cfac7245207a95ca"
    ),
    "tu/NCI1.zip": "eae6b0c076d59e667c67de0039cfc3214eefb91a8dddc2fa3099126da02d4376",
    "tu/NCI109.zip": "c9e5388b0fb049b68205f8f8c2465d983e73ea8d41ea42bbd15b121aa55d9420",
    "tu/PROTEINS.zip": "fe9d19741637486ea1fd285bf669fce0b117e10b03cdd379f6a5e6197fc830ae",
}
