//! The limit of actions at both ends: every 16-bit number is an action, in rules, search, self-play, records,
//! training and exports.

use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::checkpoint;
use petteia::config::Config;
use petteia::conformance::check;
use petteia::encode::MAX_ACTIONS;
use petteia::export::{Format, export};
use petteia::game::{Action, Game, GameOptions, Outcome, Player, Rules};
use petteia::random::{Purpose, stream};
use petteia::replay::store;
use petteia::run::{Event, Observer, train};

use crate::support::wide::Wide;

fn rules() -> Rules<Wide> {
    Rules::new(&GameOptions::default()).unwrap()
}

struct Silent;

impl Observer for Silent {
    fn event(&self, _: Event) {}
}

#[test]
fn every_number_of_16_bits_is_an_action_and_no_other() {
    let rules = rules();
    let all: Vec<Action> = Action::all(rules.identity.shape).collect();
    assert_eq!((all.len(), all[0], all[all.len() - 1]), (MAX_ACTIONS, Action(0), Action(u16::MAX)));
    assert_eq!(rules.game.legal(&rules.game.initial()), all);
    let statistics = check(&rules.game, 3, 1).unwrap();
    assert_eq!((statistics.games, statistics.longest), (3, 2));
    let more = check(&Wide { actions: MAX_ACTIONS + 1 }, 1, 1).unwrap_err();
    assert!(
        more.rule.contains("and 65537 actions; a network needs") && more.rule.contains("and 65536 actions"),
        "{more}"
    );
    assert_eq!(Action::all(Wide { actions: MAX_ACTIONS + 1 }.shape()).count(), MAX_ACTIONS);
    check(&Wide { actions: MAX_ACTIONS - 128 }, 1, 1).unwrap();
}

#[test]
fn a_search_sees_all_actions() {
    let rules = rules();
    let contestant = Contestant::new(&rules, &AgentSpec::Uniform(64)).unwrap();
    let mut agent = contestant.search_agent(stream(1, Purpose::Agent, &[])).unwrap();
    let analysis = agent.analyze(&rules.game.initial()).unwrap();
    assert!(!analysis.visits.is_empty());
    // after any first action, the second player can win with one of the last actions in the list
    let mut state = rules.game.initial();
    rules.game.play(&mut state, Action(u16::MAX));
    let mut agent = contestant.search_agent(stream(2, Purpose::Agent, &[])).unwrap();
    let analysis = agent.analyze(&state).unwrap();
    assert!(analysis.action.index() >= MAX_ACTIONS - 16, "{analysis:?}");
    rules.game.play(&mut state, analysis.action);
    assert_eq!(rules.game.outcome(&state), Some(Outcome::Win(Player::Second)));
}

#[test]
fn a_run_learns_from_its_first_and_its_last_action_and_is_exported() {
    let rules = rules();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let sets = [
        "net.filters=2",
        "net.blocks=1",
        "net.value_hidden=4",
        "search.simulations=8",
        "selfplay.games=6",
        "selfplay.batch=2",
        "selfplay.bootstrap_games=6",
        "selfplay.bootstrap_simulations=8",
        "train.generations=2",
        "train.batch=4",
        "train.warmup_steps=1",
        "arena.opponent=random",
        "arena.games=2",
        "arena.final_games=2",
        "arena.simulations=4",
        "arena.opening_plies=0",
        "arena.ladder_games=0",
    ];
    let config = Config::parse_kept("a test", "game.id = 'wide'", &sets.map(String::from)).unwrap();
    let summary = train(&rules.clone().opened(), &config, &run, &Silent).unwrap();
    assert_eq!(summary.generations, 2);
    assert!(summary.steps > 0);
    // records name actions up to the last one, and can be read back
    let (_, shard) = store::list(&run).unwrap().pop().unwrap();
    let records = store::read_shard(&shard, &rules, None).unwrap().records;
    let ends = records.iter().filter(|record| {
        let last: usize = record.actions[1].parse().unwrap();
        last >= MAX_ACTIONS - 16
    });
    assert!(ends.count() > 0, "the second player wins by them");
    let checkpoint = checkpoint::latest(&run).unwrap().unwrap();
    for (format, name) in [(Format::Safetensors, "wide.safetensors"), (Format::Onnx, "wide.onnx")] {
        let out = folder.path().join(name);
        assert!(export(&checkpoint, format, &out).unwrap() > 0);
        let spec = AgentSpec::parse(format!("{}:4", out.display())).unwrap();
        if format == Format::Safetensors {
            let contestant = Contestant::new(&rules, &spec).unwrap();
            let mut agent = contestant.search_agent(stream(1, Purpose::Agent, &[])).unwrap();
            assert!(!agent.analyze(&rules.game.initial()).unwrap().visits.is_empty());
        }
    }
}
