//! Auxiliary heads: their targets are right, the heads learn the targets, and nothing else changes.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use petteia::any::Opened;
use petteia::board::Symmetry;
use petteia::config::{Config, NetConfig, Precision, TrainConfig};
use petteia::encode::Planes;
use petteia::game::{Action, BoardView, Game, GameOptions, Outcome, Player, Rules, Shape};
use petteia::games::Games;
use petteia::games::connect_four::ConnectFour;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::net::auxiliary::{AuxiliaryHead, HeadKind, without_heads};
use petteia::net::device::cpu;
use petteia::net::model::{Model, Outputs};
use petteia::net::network::Network;
use petteia::random::{Purpose, choose, stream};
use petteia::registry::Registry;
use petteia::replay::auxiliary::AuxiliaryTarget;
use petteia::replay::record::Record;
use petteia::replay::sample::{Replayed, Sample, replayed};
use petteia::replay::window::{Batch, Window};
use petteia::search::evaluator::Wdl;
use petteia::train::{Trainer, loss};
use rand::RngExt;

use crate::support::training::{batch, random};

fn config(id: &str) -> Config {
    let mut config = Config::new(id);
    (config.net, config.replay) = Default::default();
    (config.net.filters, config.net.blocks, config.net.value_hidden) = (8, 1, 16);
    (config.net.reply_policy, config.net.short_value) = (0.5, 0.5);
    config
}

/// A random game with invented search results at most of its plies.
fn random_record<G: Game>(rules: &Rules<G>, number: u64) -> Record {
    let (game, mut random) = (&rules.game, stream(11, Purpose::Selfplay, &[number]));
    let mut state = game.initial();
    let mut record = Record::new(&rules.identity, "chance", game.state_text(&state));
    record.index = number as usize;
    while game.outcome(&state).is_none() {
        let legal = game.legal(&state);
        let is_fast = random.random::<f32>() < 0.25;
        let mut visits = BTreeMap::new();
        for action in legal.iter().filter(|_| !is_fast) {
            visits.insert(game.action_text(&state, *action), random.random_range(0..4));
        }
        let action = choose(&mut random, &legal);
        let played = game.action_text(&state, action);
        visits.entry(played.clone()).and_modify(|count| *count += 3);
        let (win, draw) = (random.random_range(0.0..0.5), random.random_range(0.0..0.5));
        record.wdl.push([win, draw, 1.0 - win - draw]);
        record.actions.push(played);
        record.visits.push(visits);
        game.play(&mut state, action);
    }
    record.outcome = game.outcome(&state).unwrap().id().into();
    record
}

fn taught<G: Game>(rules: &Rules<G>, record: &Record) -> Replayed {
    let mut found = replayed(rules, record).unwrap();
    assert!(found.samples.iter().all(|sample| sample.auxiliary.is_empty()));
    found.teach(&rules.game, record, &config(&rules.identity.id));
    found
}

fn target(sample: &Sample, head: HeadKind) -> Option<&[(u16, f32)]> {
    let mut found = sample.auxiliary.iter().filter(|target| target.head == head);
    let target = found.next().map(|target| target.shares.as_slice());
    assert!(found.next().is_none(), "two targets for one head");
    target
}

const FIRST: Player = Player::First;
const SECOND: Player = Player::Second;

/// A sample that is recognized by its policy.
fn sample(policy: &[(u16, f32)], [win, draw, loss]: [f32; 3]) -> Sample {
    let mut planes = Planes::new(TicTacToe.shape());
    (0..TicTacToe.shape().planes).for_each(|plane| planes.fill(plane, 0.0));
    let wdl = Wdl { win: 1.0, draw: 0.0, loss: 0.0 };
    Sample {
        planes,
        policy: policy.iter().map(|(action, share)| (Action(*action), *share)).collect(),
        outcome: wdl,
        search: Wdl { win, draw, loss },
        target: wdl,
        weight: 1.0,
        symmetries: vec![Symmetry::IDENTITY],
        auxiliary: Vec::new(),
    }
}

/// Players do not alternate here, and plies 3 and 4 were not searched.
#[test]
fn targets_by_hand() {
    let rules = Rules::<TicTacToe>::new(&GameOptions::default()).unwrap();
    let mut record = random_record(&rules, 1);
    let searched = |index| ![3, 4].contains(&index);
    let visits = |index| searched(index).then(|| ("a1".to_string(), 1)).into_iter().collect();
    record.actions = vec!["a1".into(); 7];
    record.visits = (0..7).map(visits).collect();
    let unknown = [0.3, 0.3, 0.4];
    record.wdl = vec![
        [0.0, 0.0, 1.0],
        [0.5, 0.5, 0.0],
        [0.1, 0.2, 0.7],
        unknown,
        unknown,
        [0.4, 0.0, 0.6],
        [1.0, 0.0, 0.0],
    ];
    record.outcome = Outcome::Win(FIRST).id().into();
    let policies: [&[(u16, f32)]; 5] =
        [&[(0, 1.0)], &[(1, 1.0)], &[(2, 0.25), (3, 0.0), (5, 0.75)], &[(6, 1.0)], &[(7, 1.0)]];
    let searches = (0..7).filter(|ply| searched(*ply)).map(|ply| record.wdl[ply]);
    let mut game = Replayed {
        samples: policies.into_iter().zip(searches).map(|(policy, wdl)| sample(policy, wdl)).collect(),
        ending: String::new(),
        movers: vec![FIRST, FIRST, SECOND, SECOND, FIRST, SECOND, FIRST],
    };
    game.teach(&rules.game, &record, &config("tic-tac-toe"));
    let replies: Vec<_> =
        game.samples.iter().map(|sample| target(sample, HeadKind::ReplyPolicy).map(<[_]>::to_vec)).collect();
    let ply_2 = Some(vec![(2, 0.25), (5, 0.75)]);
    // ply 2 is followed by an unsearched ply of the first player, and no ply follows the last one
    assert_eq!(replies, [ply_2.clone(), ply_2, None, Some(vec![(7, 1.0)]), None]);
    let expected: [[f32; 3]; 5] = [
        [0.690_586, 0.092_593, 0.216_821],
        [0.828_704, 0.111_111, 0.060_185],
        // a ply of the second player
        [0.072_222, 0.033_333, 0.894_444],
        [0.066_667, 0.0, 0.933_333],
        [1.0, 0.0, 0.0],
    ];
    for (sample, expected) in game.samples.iter().zip(expected) {
        let found = target(sample, HeadKind::ShortValue).unwrap();
        assert!(found.iter().map(|(output, _)| *output).eq(0..3));
        assert!(found.iter().zip(expected).all(|((_, a), b)| (a - b).abs() < 2e-6), "{found:?} {expected:?}");
    }
    // the value target is still the outcome
    let values = game.samples.iter().map(|sample| sample.target.value());
    assert!(values.eq([1.0, 1.0, -1.0, -1.0, 1.0]));
}

struct Replies;

impl Replies {
    /// The number of replies, and how many of them came after another ply of the same player.
    fn on(self, rules: Opened) -> [usize; 2] {
        let (game, Shape { height, width, actions, .. }) = (&rules.game, rules.game.shape());
        let (cells, mut counts) = (height * width, [0, 0]);
        for number in 0..6 {
            let record = random_record(&rules, number);
            let (mut states, mut state) = (Vec::new(), game.initial());
            for action in &record.actions {
                states.push(state.clone());
                let action = game.parse_action(&state, action).unwrap();
                game.play(&mut state, action);
            }
            let mover = |ply: usize| game.to_move(&states[ply]);
            let searched = (0..states.len()).filter(|ply| !record.visits[*ply].is_empty());
            for (ply, sample) in searched.zip(&taught(&rules, &record).samples) {
                let next = (ply + 1..states.len()).find(|next| mover(*next) != mover(ply));
                let visits = next.map(|next| &record.visits[next]).filter(|visits| !visits.is_empty());
                let found = target(sample, HeadKind::ReplyPolicy);
                assert_eq!(found.is_some(), visits.is_some(), "game {number}, ply {ply}");
                let (Some(next), Some(visits), Some(found)) = (next, visits, found) else { continue };
                counts[0] += 1;
                counts[1] += usize::from(next > ply + 1);
                let all: u32 = visits.values().sum();
                let shares = visits.iter().filter(|(_, count)| **count > 0);
                assert_eq!(found.len(), shares.clone().count());
                for (text, count) in shares {
                    // a square of the action, as the player of this ply sees it
                    let action = game.parse_action(&states[next], text).unwrap();
                    let seen = game.map_action(game.turning(), action);
                    let share = found.iter().find(|(output, _)| *output == seen.0).unwrap().1;
                    assert!((share - *count as f32 / all as f32).abs() < 1e-6);
                    if seen.index() >= actions / cells * cells {
                        continue;
                    }
                    // the first player sees the board as it is drawn
                    let drawn =
                        if mover(ply) == FIRST { seen } else { game.map_action(game.turning(), seen) };
                    let place = BoardView::place(drawn.index() % cells, height, width);
                    let touched = game.touched(&states[next], action);
                    assert!(touched.contains(&place), "game {number}, ply {ply}: {text}, {drawn:?}");
                }
            }
        }
        counts
    }
}

/// Replies are seen from the side of the player who receives the reply, even if players see the board turned or act
/// several times in a row.
#[test]
fn a_reply_is_the_other_players_next_ply() {
    for id in Games::ids() {
        let [replies, later] = Games::open(&id, &Default::default()).map(|rules| Replies.on(rules)).unwrap();
        assert!(replies > 12, "{id}: {replies}");
        assert!(later > 0 || !id.starts_with("cage"), "{id}: no jump was continued");
    }
}

struct Mapped;

impl Mapped {
    /// The number of rows that were mapped by a symmetry other than the identity.
    fn on(self, rules: Opened) -> usize {
        let (game, shape) = (&rules.game, rules.identity.shape);
        let samples: Vec<Sample> =
            (0..3).flat_map(|number| taught(&rules, &random_record(&rules, number)).samples).collect();
        let mut count = 0;
        for sample in samples.into_iter().filter(|sample| target(sample, HeadKind::ReplyPolicy).is_some()) {
            let mut window = Window::new(1, shape);
            window.push_samples(game, vec![sample.clone()]);
            let batch = window.draw(12, 0.0, &mut random(1));
            let row_of = |shares: &mut dyn Iterator<Item = (Action, f32)>, symmetry| {
                let mut row = vec![0.0; shape.actions];
                shares.for_each(|(action, share)| row[game.map_action(symmetry, action).index()] = share);
                row
            };
            for row in 0..12 {
                let planes = |symmetry: Symmetry| {
                    let mut numbers = vec![0.0; shape.input_len()];
                    sample.planes.mapped(symmetry).expand(&mut numbers);
                    numbers
                };
                let drawn: Vec<f32> =
                    batch.planes.index_axis(ndarray::Axis(0), row).iter().copied().collect();
                let fits = |symmetry: &&Symmetry| {
                    planes(**symmetry) == drawn
                        && row_of(&mut sample.policy.iter().copied(), **symmetry)
                            == batch.policy.row(row).to_vec()
                };
                let fitting: Vec<&Symmetry> = sample.symmetries.iter().filter(fits).collect();
                assert!(!fitting.is_empty());
                let reply = target(&sample, HeadKind::ReplyPolicy).unwrap();
                let reply = reply.iter().map(|(output, share)| (Action(*output), *share));
                let found = batch.auxiliary[&HeadKind::ReplyPolicy].row(row).to_vec();
                assert!(fitting.iter().any(|symmetry| row_of(&mut reply.clone(), **symmetry) == found));
                let short = target(&sample, HeadKind::ShortValue).unwrap().iter().map(|(_, share)| *share);
                assert!(batch.auxiliary[&HeadKind::ShortValue].row(row).iter().copied().eq(short));
                count += usize::from(!fitting.contains(&&Symmetry::IDENTITY));
            }
        }
        count
    }
}

#[test]
fn a_reply_is_mapped_like_its_row() {
    for id in ["connect-four", "phage", "cage-4", "caissa", "tic-tac-toe"] {
        let mapped = Games::open(id, &Default::default()).map(|rules| Mapped.on(rules)).unwrap();
        assert!(mapped > 5, "{id}: {mapped}");
    }
}

/// A sample without a target counts as zeros in the mean of a position, so that the mean sums to less than 1.
#[test]
fn recurring_positions_have_the_mean_of_their_targets() {
    let with = |weight: f32, targets: &[(HeadKind, &[(u16, f32)])]| {
        let target =
            |(head, shares): &(HeadKind, &[_])| AuxiliaryTarget { head: *head, shares: shares.to_vec() };
        Sample {
            weight,
            auxiliary: targets.iter().map(target).collect(),
            ..sample(&[(0, 1.0)], [1.0, 0.0, 0.0])
        }
    };
    let (reply, short) = (HeadKind::ReplyPolicy, HeadKind::ShortValue);
    let mut window = Window::new(10, TicTacToe.shape());
    let samples = vec![
        with(1.0, &[(short, &[(0, 1.0), (1, 0.0), (2, 0.0)])]),
        with(1.0, &[(reply, &[(4, 0.5), (7, 0.5)]), (short, &[(0, 0.0), (1, 1.0), (2, 0.0)])]),
        with(2.0, &[(reply, &[(2, 1.0)]), (short, &[(0, 0.0), (1, 0.0), (2, 1.0)])]),
    ];
    window.push_samples(&TicTacToe, samples);
    let batch = window.merged().rows(&[0]);
    let near = |head, expected: &[f32]| {
        let found = batch.auxiliary[&head].row(0).to_vec();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    };
    near(reply, &[0.0, 0.0, 0.5, 0.0, 0.125, 0.0, 0.0, 0.125, 0.0]);
    near(short, &[0.25, 0.25, 0.5]);
}

#[test]
fn the_loss_is_a_divergence_and_rows_count_by_their_targets() {
    let shape = Shape { planes: 1, height: 1, width: 1, actions: 2 };
    let mut batch = Batch::empty(3, shape);
    batch.illegal.fill(false);
    let rows = |rows: Vec<f32>, width| Tensor::<2>::from_data(TensorData::new(rows, [3, width]), &cpu());
    let targets = vec![0.5, 0.25, 0.25, 0.0, 0.0, 0.0, 0.25, 0.25, 0.0];
    batch.auxiliary.insert(HeadKind::ShortValue, ndarray::Array2::from_shape_vec((3, 3), targets).unwrap());
    let said = [0.2f32, 0.3, 0.5, 0.9, 0.05, 0.05, 0.4, 0.4, 0.2].map(f32::ln);
    let head = |kind| AuxiliaryHead { kind, weight: 10.0, parts: Vec::new() };
    let loss = |kind| {
        let (policy, wdl) = (rows(vec![0.0; 6], 2), rows(vec![0.0; 9], 3));
        let found = loss::losses(policy, wdl, &batch, 1.0, &cpu());
        loss::with_auxiliary(found, &[head(kind)], vec![rows(said.to_vec(), 3)], &batch, &cpu())
    };
    let (all, losses) = loss(HeadKind::ShortValue);
    let first = 0.5 * (0.5f32 / 0.2).ln() + 0.25 * (0.25f32 / 0.3).ln() + 0.25 * (0.25f32 / 0.5).ln();
    let last = 0.5 * (0.5f32 / 0.4).ln();
    let expected = (first + last) / 3.0;
    assert!((losses.auxiliary[HeadKind::ShortValue as usize] - expected).abs() < 1e-6, "{losses:?}");
    let all: f32 = all.into_scalar();
    assert!((all - losses.policy - losses.value - 10.0 * expected).abs() < 1e-5, "{all}");
    // there are no targets for replies
    let (all, losses) = loss(HeadKind::ReplyPolicy);
    assert_eq!((losses.auxiliary, all.into_scalar::<f32>()), ([0.0; 3], losses.policy + losses.value));
}

/// Collects the name prefixes of all parameters with a gradient.
struct Reached<'a> {
    gradients: &'a GradientsParams,
    path: Vec<String>,
    names: Vec<String>,
}

impl ModuleVisitor for Reached<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.gradients.get::<D>(param.id).is_some() {
            self.names.push(self.path[0].clone());
        }
    }
}

#[test]
fn a_heads_gradient_reaches_what_it_shares() {
    let shape = Shape { planes: 3, height: 4, width: 5, actions: 45 };
    let mut net = config("any").net;
    net.soft_policy = 1.0;
    let model = Model::of(&Network::new(&net, shape, 1), &cpu().autodiff());
    let reached = |pick: &dyn Fn(Outputs) -> Tensor<2>| {
        let planes = batch(shape, 4, &mut random(1)).planes;
        let planes = Tensor::from_data(loss::data(&planes), &cpu().autodiff());
        let loss = pick(model.forward_in_training(planes, Precision::F32)).powi_scalar(2).sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let mut reached = Reached { gradients: &gradients, path: Vec::new(), names: Vec::new() };
        model.visit(&mut reached);
        reached.names.dedup();
        reached.names.join(" ")
    };
    assert_eq!(reached(&|said| said.policy), "stem blocks policy_hidden policy_planes policy_extras");
    assert_eq!(reached(&|said| said.wdl), "stem blocks value_conv value_hidden value_out");
    let head = |index: usize| reached(&move |said: Outputs| said.auxiliary[index].clone());
    assert_eq!(head(0), "stem blocks policy_hidden soft_planes soft_extras");
    assert_eq!(head(1), "stem blocks policy_hidden reply_planes reply_extras");
    assert_eq!(head(2), "stem blocks value_conv value_hidden short_value");
}

/// Neither the initial weights of the other parts nor the network that plays depends on the heads.
#[test]
fn heads_change_no_other_first_weight() {
    let shape = Shape { planes: 3, height: 4, width: 5, actions: 45 };
    let plain = without_heads(&config("any").net);
    let numbers = |net: &NetConfig| Network::new(net, shape, 7).weights().numbers;
    let (without, with) = (numbers(&plain), numbers(&config("any").net));
    assert!(without.iter().all(|(name, numbers)| with[name].weight == numbers.weight));
    let more: Vec<&String> = with.keys().filter(|name| !without.contains_key(*name)).collect();
    assert_eq!(more, ["reply_extras.conv", "reply_extras.linear", "reply_planes", "short_value"]);
    // heads are removed, and added again with other initial weights
    let whole = Network::new(&config("any").net, shape, 7);
    let (network, anew) = whole.adapted(&plain, shape, 0);
    assert!(anew.is_empty() && network.weights().numbers.keys().eq(without.keys()));
    let (again, anew) = network.adapted(&config("any").net, shape, 8);
    assert_eq!(anew, ["reply_planes", "reply_extras.conv", "reply_extras.linear", "short_value"]);
    let again = again.weights();
    assert_eq!(again.of("stem").weight, with["stem"].weight);
    assert_ne!(again.of("short_value").weight, with["short_value"].weight);
    again.check();
}

#[test]
fn a_few_games_are_learned_by_all_heads() {
    let rules = Rules::<ConnectFour>::new(&GameOptions::default()).unwrap();
    let mut config = config("connect-four");
    config.net.soft_policy = 1.0;
    config.net.filters = 16;
    let mut window = Window::new(1000, rules.identity.shape);
    for number in 0..3 {
        let samples = taught(&rules, &random_record(&rules, number)).samples;
        window.push_samples(&rules.game, samples);
    }
    let network = Network::new(&config.net, rules.identity.shape, 1);
    let mut trainer = Trainer::new(&TrainConfig::default(), &network);
    let mut step = |step: u64, rate| {
        let batch = window.draw(32, 0.0, &mut stream(1, Purpose::Sampling, &[step]));
        assert_eq!(batch.auxiliary.len(), 2);
        trainer.train(&batch, rate).unwrap().auxiliary
    };
    let first = step(0, 0.0);
    for number in 1..400 {
        step(number, 0.01);
    }
    let last = step(400, 0.001);
    println!("{first:?} {last:?}");
    for head in HeadKind::ALL {
        let (first, last) = (first[head as usize], last[head as usize]);
        assert!(first > 0.05 && last < 0.3 * first, "{}: {first} to {last}", head.name());
    }
}
