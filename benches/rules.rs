//! The hot loops of every game's rules: `cargo bench --bench rules [-- ID]`. Criterion compares with the run before.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use petteia::encode::Planes;
use petteia::game::{Action, Game, Rules, Settings, perft};
use petteia::games::Games;
use petteia::random::{Purpose, choose, stream};
use petteia::registry::{Job, Registry};

/// Positions of random games, each with one of its legal actions.
const POSITIONS: usize = 1000;
const PERFT_DEPTH: usize = 3;

struct Bench<'a> {
    id: &'a str,
    criterion: &'a mut Criterion,
}

impl Job for Bench<'_> {
    type Output = ();

    fn run<G: Game>(self, rules: Rules<G>) {
        let game = &rules.game;
        let positions = positions(game);
        let mut group = self.criterion.benchmark_group(self.id);
        group.throughput(Throughput::Elements(POSITIONS as u64));
        let mut legal = Vec::new();
        group.bench_function("legal_actions", |b| {
            b.iter(|| positions.iter().for_each(|(state, _)| game.legal_actions(state, &mut legal)))
        });
        group.bench_function("count_legal_actions", |b| {
            b.iter(|| positions.iter().map(|(s, _)| game.count_legal_actions(s, &mut legal)).sum::<usize>())
        });
        group.bench_function("play", |b| {
            b.iter(|| {
                for (state, action) in &positions {
                    let mut state = state.clone();
                    game.play(&mut state, *action);
                    std::hint::black_box(&state);
                }
            })
        });
        group.bench_function("outcome", |b| {
            b.iter(|| positions.iter().filter(|(state, _)| game.outcome(state).is_some()).count())
        });
        group.bench_function("key", |b| {
            b.iter(|| positions.iter().fold(0, |sum, (state, _)| sum ^ game.key(state)))
        });
        let mut planes = Planes::new(game.shape());
        group.bench_function("encode", |b| {
            b.iter(|| positions.iter().for_each(|(state, _)| game.encode(state, &mut planes)))
        });
        let initial = game.initial();
        group.throughput(Throughput::Elements(perft(game, &initial, PERFT_DEPTH)));
        group.bench_function("perft", |b| b.iter(|| perft(game, &initial, PERFT_DEPTH)));
        group.finish();
    }
}

fn positions<G: Game>(game: &G) -> Vec<(G::State, Action)> {
    let mut random = stream(1, Purpose::Opening, &[]);
    let (mut positions, mut legal) = (Vec::new(), Vec::new());
    while positions.len() < POSITIONS {
        let mut state = game.initial();
        loop {
            game.legal_actions(&state, &mut legal);
            if legal.is_empty() {
                break;
            }
            let action = choose(&mut random, &legal);
            positions.push((state.clone(), action));
            game.play(&mut state, action);
        }
    }
    positions.truncate(POSITIONS);
    positions
}

fn rules(criterion: &mut Criterion) {
    for id in Games::ids() {
        Games::with_game(&id, &Settings::new(), Bench { id: &id, criterion })
            .expect("the registry knows its ids");
    }
}

criterion_group!(benches, rules);
criterion_main!(benches);
