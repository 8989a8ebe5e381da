//! Search trees of fixed positions as text: what each kind of search found at the root. `petteia bench signature`
//! shows that a change affected the search; these files show how. `PETTEIA_BLESS=1` rewrites the files in
//! `data/search`; review every change to them.

use std::fmt::Write;
use std::path::Path;

use petteia::any::Opened;
use petteia::config::{RootKind, SearchConfig};
use petteia::conformance::unchanged;
use petteia::game::{Action, Game, Outcome, Player, Settings, line_text};
use petteia::games::Games;
use petteia::random::{Purpose, choose, stream};
use petteia::registry::Registry;
use petteia::search::Search;
use petteia::search::evaluator::{Evaluator, Rollout, Uniform};

const GAMES: [&str; 6] = ["tic-tac-toe", "connect-four", "phage", "cage-4", "caissa", "custodial-trap-intro"];
const SIMULATIONS: usize = 200;
/// The numbers of random plies before each position; with the most plies, short games are near their end.
const PLIES: [usize; 3] = [0, 5, 24];
/// The maximum number of actions shown; those with the most visits come first.
const SHOWN: usize = 12;

struct Trees;

impl Trees {
    fn on(self, rules: Opened) -> String {
        let game = &rules.game;
        let mut out = String::new();
        for plies in PLIES {
            let state = position(game, plies);
            writeln!(out, "=== {}", game.state_text(&state)).unwrap();
            out += &searches(game, &state);
        }
        out
    }
}

/// The position after this many random plies, or the last position before the game is over.
fn position<G: Game>(game: &G, plies: usize) -> G::State {
    let mut random = stream(1, Purpose::Opening, &[]);
    let mut state = game.initial();
    for _ in 0..plies {
        let mut next = state.clone();
        game.play(&mut next, choose(&mut random, &game.legal(&state)));
        if game.outcome(&next).is_some() {
            break;
        }
        state = next;
    }
    state
}

type Boxed<G> = Box<dyn Evaluator<G>>;

fn searches<G: Game>(game: &G, state: &G::State) -> String {
    let rollout = || Box::new(Rollout::new(game.clone())) as Boxed<G>;
    let gumbel = SearchConfig::with(|search| (search.root, search.gumbel_actions) = (RootKind::Gumbel, 4));
    let forced = SearchConfig::with(|search| search.forced_playouts = 2.0);
    let kinds: [(&str, Boxed<G>, SearchConfig, bool); 5] = [
        ("uniform", Box::new(Uniform), SearchConfig::default(), false),
        ("rollout", rollout(), SearchConfig::default(), false),
        ("noisy root", rollout(), SearchConfig::default(), true),
        ("noisy root, forced playouts", rollout(), forced, true),
        ("gumbel root with noise", rollout(), gumbel, true),
    ];
    let mut out = String::new();
    for (name, mut evaluator, config, noise) in kinds {
        let mut random = stream(1, Purpose::Agent, &[]);
        let mut search = Search::new(game.clone(), config.one_by_one(), state.clone());
        search.begin(Some(SIMULATIONS), noise);
        search.run_while(&mut evaluator, &mut random, |_| usize::MAX).unwrap();
        out += &found(game, name, &search);
        if name != "rollout" {
            continue;
        }
        // keep the tree of the action played
        search.advance(search.tree().best_action().unwrap());
        if !search.is_over() || search.tree().has_root() {
            search.run(&mut evaluator, SIMULATIONS / 4, &mut random).unwrap();
            out += &found(game, "rollout, the position after it", &search);
        }
    }
    out
}

/// The root as a table.
fn found<G: Game>(game: &G, name: &str, search: &Search<G>) -> String {
    let tree = search.tree();
    let (state, player) = (tree.root(), game.to_move(tree.root()));
    let text = |action: Action| game.action_text(state, action);
    let wdl = tree.root_wdl();
    let mut out = format!("\n-- {name}: {} simulations, {} nodes", search.simulations(), tree.size().0);
    let numbers = [wdl.win, wdl.draw, wdl.loss].map(|share| format!("{share:.3}")).join(" ");
    writeln!(out, ", win draw loss {numbers}{}", proof(tree.proven(), player)).unwrap();
    writeln!(out, "line: {}", line_text(game, state, &tree.principal_variation()).join(" ")).unwrap();
    let mut edges: Vec<_> = tree.root_edges().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.visits));
    for edge in edges.iter().take(SHOWN) {
        let value = edge.mean_for(player).map_or("-".into(), |mean| format!("{mean:+.3}"));
        let (visits, prior, proven) = (edge.visits, edge.prior, proof(edge.proven, player));
        writeln!(
            out,
            "{:>8} {visits:>4} visits  value {value:>6}  prior {prior:.4}{proven}",
            text(edge.action)
        )
        .unwrap();
    }
    if edges.len() > SHOWN {
        let rest = &edges[SHOWN..];
        let visits: u32 = rest.iter().map(|edge| edge.visits).sum();
        writeln!(out, "and {} more actions with {visits} visits", rest.len()).unwrap();
    }
    if let Some(mut target) = tree.policy_target() {
        target.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        let target: Vec<String> =
            target.iter().take(SHOWN).map(|(action, weight)| format!("{} {weight}", text(*action))).collect();
        writeln!(out, "teaches: {}", target.join(", ")).unwrap();
    }
    out
}

fn proof(outcome: Option<Outcome>, player: Player) -> &'static str {
    match outcome {
        None => "",
        Some(Outcome::Draw) => "  proven draw",
        Some(Outcome::Win(winner)) if winner == player => "  proven win",
        Some(Outcome::Win(_)) => "  proven loss",
    }
}

#[test]
fn searches_find_what_they_found_when_they_were_looked_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/search");
    for id in GAMES {
        let now = Games::open(id, &Settings::new()).map(|rules| Trees.on(rules)).unwrap();
        let file = folder.join(format!("{id}.txt"));
        unchanged(&file, &now).unwrap_or_else(|problem| panic!("{problem}"));
    }
}
