"""Tests of exported and imported weights, and of networks of other programs."""

import numpy as np
import pytest

import petteia

PHAGE = petteia.Game("phage")


def some_positions(game, count=20):
    batch = game.batch(count, auto_reset=False, seed=3)
    for _ in range(3):
        batch.apply(batch.sample())
    return [batch.position(row) for row in range(count)]


def test_weights_out_and_in(tmp_path):
    found = petteia.weights("shipped", PHAGE)
    assert found.metadata["game"] == "phage" and found.layers["tower"][-1]["layer"] == "block"
    assert all(tensor.dtype == np.float32 for tensor in found.tensors.values())
    path, positions = tmp_path / "same.safetensors", some_positions(PHAGE)
    petteia.write_weights(path, found.tensors, "shipped", PHAGE)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        petteia.write_weights(path, found.tensors, "shipped", PHAGE)
    petteia.write_weights(path, found.tensors, "shipped", PHAGE, overwrite=True)
    again, theirs = petteia.evaluate(positions, path), petteia.evaluate(positions, "shipped")
    assert (again.priors == theirs.priors).all() and (again.wdl == theirs.wdl).all()
    name = next(iter(found.tensors))
    with pytest.raises(ValueError, match="lacks the tensor"):
        petteia.write_weights(path.with_name("other"), {key: one for key, one in found.tensors.items() if key != name}, "shipped", PHAGE)
    with pytest.raises(ValueError, match="shape"):
        petteia.write_weights(path.with_name("other"), {**found.tensors, name: np.zeros((2, 2))}, "shipped", PHAGE)
    with pytest.raises(ValueError, match="there is no shipped agent"):
        petteia.weights("shipped", petteia.Game("hex", size=4))


def test_a_new_network_is_an_agent(tmp_path):
    game = petteia.Game("hex", size=4)
    petteia.new_network(tmp_path / "new.safetensors", game, seed=3, filters=8, blocks=1)
    before = (tmp_path / "new.safetensors").read_bytes()
    with pytest.raises(FileExistsError, match="new.safetensors already exists"):
        petteia.new_network(tmp_path / "new.safetensors", game, seed=4, filters=8, blocks=1)
    assert (tmp_path / "new.safetensors").read_bytes() == before
    petteia.new_network(tmp_path / "new.safetensors", game, seed=4, filters=8, blocks=1, overwrite=True)
    assert (tmp_path / "new.safetensors").read_bytes() != before
    assert petteia.play_match(game, tmp_path / "new.safetensors", "random", 8, 16).games == 8
    with pytest.raises(ValueError, match="net.filters"):
        petteia.new_network(tmp_path / "other.safetensors", game, filters=-1)


def test_a_network_in_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    import petteia.torch

    games = [(PHAGE, "shipped")]
    for kind in ({}, {"value_pooling": True}, {"block_pooling": 1}):
        game, path = petteia.Game("cage-4"), tmp_path / f"{len(games)}.safetensors"
        petteia.new_network(path, game, filters=8, blocks=2, **kind)
        games.append((game, path))
    for game, agent in games:
        network, positions = petteia.torch.load(agent, game), some_positions(game)
        other = tmp_path / "other.safetensors"
        with torch.no_grad():
            for tensor in network.parameters():
                tensor.add_(0.01 * torch.randn_like(tensor))
        petteia.torch.save(network, other, overwrite=True)
        ours, theirs = petteia.evaluate(positions, other), petteia.evaluate(positions, petteia.torch.evaluator(network), logits=True)
        assert np.abs(ours.priors - theirs.priors).max() < 1e-4 and np.abs(ours.wdl - theirs.wdl).max() < 1e-4
        assert np.abs(ours.priors - petteia.evaluate(positions, agent).priors).max() > 1e-4
        bare = petteia.torch.folded(petteia.weights(other, game))
        assert not any(".norm." in name for name in bare.tensors)
        theirs = petteia.evaluate(positions, petteia.torch.evaluator(petteia.torch.Network(bare)), logits=True)
        assert np.abs(ours.priors - theirs.priors).max() < 1e-4 and np.abs(ours.wdl - theirs.wdl).max() < 1e-4
        state = petteia.torch.load(other, game).state_dict()
        assert all((tensor == state[name]).all() for name, tensor in network.state_dict().items())
        petteia.torch.save(state, tmp_path / "again.safetensors", like=other, overwrite=True)
    with pytest.raises(ValueError, match="like"):
        petteia.torch.save(state, tmp_path / "more.safetensors")
    with pytest.raises(FileExistsError):
        petteia.torch.save(network, other)


def test_a_network_in_pytorch_learns(tmp_path):
    torch = pytest.importorskip("torch")
    import petteia.torch

    petteia.new_network(tmp_path / "new.safetensors", PHAGE, filters=8, blocks=1)
    network = petteia.torch.load(tmp_path / "new.safetensors")
    data = petteia.selfplay(PHAGE, "rollout", 4, 16)
    optimizer, losses = torch.optim.Adam(network.parameters(), 0.01), []
    for _ in range(15):
        network.train()
        policy, wdl = network(torch.from_numpy(data.planes))
        loss = torch.nn.functional.cross_entropy(policy, torch.from_numpy(data.policy))
        loss = loss + torch.nn.functional.cross_entropy(wdl, torch.from_numpy(1 - data.outcome.astype(np.int64)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.2
    petteia.torch.save(network, tmp_path / "learned.safetensors")
    assert petteia.evaluate([PHAGE.position()], tmp_path / "learned.safetensors").priors.sum() == pytest.approx(1, abs=1e-5)
