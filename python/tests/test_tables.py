"""Tests what docs/python.md says about tables and weights in other libraries: the traps exist, and the workarounds work."""

import io

import numpy as np
import pytest

import petteia

GAME = petteia.Game("tic-tac-toe")


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "shard-0000.jsonl.zst"
    petteia.write_records(path, GAME, petteia.selfplay(GAME, "rollout", 8, 10))
    return path


def test_pyarrow_writes_records_as_parquet_without_options(shard, tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import ArrowException, input_stream, json, parquet

    table = json.read_json(io.BytesIO(input_stream(shard, compression="zstd").read()))
    with pytest.raises(ArrowException, match="options"):
        parquet.write_table(table, tmp_path / "whole.parquet")
    parquet.write_table(table.drop_columns(["options"]), tmp_path / "games.parquet")
    again = parquet.read_table(tmp_path / "games.parquet")
    assert again.num_rows == 8 and again.column("outcome") == table.column("outcome")
    assert again.column("actions") == table.column("actions")


def test_polars_writes_records_as_parquet_without_options(shard, tmp_path):
    polars = pytest.importorskip("polars")
    table = polars.read_ndjson(shard)
    with pytest.raises(polars.exceptions.PolarsError):
        table.write_parquet(tmp_path / "whole.parquet")
    table.drop("options").write_parquet(tmp_path / "games.parquet")
    again = polars.read_parquet(tmp_path / "games.parquet")
    assert len(again) == 8 and again["outcome"].to_list() == table["outcome"].to_list()
    assert again["actions"].to_list() == table["actions"].to_list()


def test_safetensors_writes_a_transposed_weight_only_if_it_is_copied(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    like, theirs, ours = (tmp_path / f"{name}.safetensors" for name in ("like", "theirs", "ours"))
    petteia.new_network(like, GAME, filters=8, blocks=1)
    tensors = petteia.weights(like).tensors
    name = next(name for name, one in tensors.items() if one.ndim == 2 and one.shape[0] != one.shape[1])
    # PyTorch's order: [outputs, inputs]
    weight = np.ascontiguousarray(tensors[name].T)
    for transposed, is_right in ((np.ascontiguousarray(weight.T), True), (weight.T, False)):
        numpy.save_file({**tensors, name: transposed}, theirs)
        petteia.write_weights(ours, numpy.load_file(theirs), like, overwrite=True)
        assert (petteia.weights(ours).tensors[name] == tensors[name]).all() == is_right
