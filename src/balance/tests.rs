use super::game::Observed;
use super::*;
use crate::any::AnyGame;
use crate::arena::spec::AgentSpec;
use crate::config::SearchConfig;
use crate::error::Error;
use crate::game::{Action, GameOptions};
use crate::game::{Player, Rules};
use crate::games::tic_tac_toe::TicTacToe;
use crate::search::evaluator::{Evaluations, Evaluator, Request, Rollout};

fn game(outcome: Outcome, scores: &[f32]) -> Observed {
    let actions = (0..scores.len()).map(|index| Action(index as u16)).collect();
    let branching = vec![10; scores.len()];
    let scores = scores.to_vec();
    Observed { actions, outcome, ending: String::new(), opening: 0, scores, branching, proven_from: None }
}

const FIRST: Outcome = Outcome::Win(Player::First);
const SECOND: Outcome = Outcome::Win(Player::Second);

#[test]
fn games_by_hand() {
    // the first player wins after a deficit of 0.32 in one of four positions; from the third position on, its lead is
    // final
    let of = |game: Observed| Character::of(&[game]);
    let comeback = of(game(FIRST, &[0.5, 0.18, 0.7, 0.9]));
    let drama = |of: &Character| of.drama.expect("somebody won");
    assert!((drama(&comeback) - 0.8).abs() < 1e-6, "{comeback:?}");
    assert_eq!((comeback.comebacks, comeback.decided, comeback.lead_changes), (Some(1.0), Some(0.5), 1.0));
    assert!((comeback.killer_move - 0.52).abs() < 1e-6);
    assert!((comeback.late_uncertainty - 0.2).abs() < 1e-6, "{comeback:?}");
    assert!((comeback.tree - 4.0).abs() < 1e-12 && comeback.branching == 10.0);
    // the same game seen from the other side
    let mirrored = of(game(SECOND, &[0.5, 0.82, 0.3, 0.1]));
    assert!((drama(&mirrored) - drama(&comeback)).abs() < 1e-6 && mirrored.decided == comeback.decided);
    assert_eq!(mirrored.lead_changes, 1.0);
    // the last action decides: the result counts
    assert!((of(game(SECOND, &[0.5, 0.6, 0.8])).killer_move - 0.8).abs() < 1e-6);
    // a winner who was never behind
    let smooth = of(game(FIRST, &[0.5, 0.6, 0.8]));
    assert!((smooth.killer_move - 0.2).abs() < 1e-6);
    assert_eq!((smooth.drama, smooth.comebacks, smooth.lead_changes), (Some(0.0), Some(0.0), 0.0));
    // expected scores in the opening come from the level that chose it, so they do not count
    let opened = of(Observed { opening: 2, ..game(FIRST, &[0.5, 0.18, 0.7, 0.9]) });
    assert_eq!((opened.comebacks, opened.decided, opened.drama), (Some(0.0), Some(1.0), Some(0.0)));
    assert!((opened.killer_move - 0.2).abs() < 1e-6 && opened.length == 4.0, "{opened:?}");
    // a draw has no drama and does not count in the mean
    let both = Character::of(&[game(Outcome::Draw, &[0.5]), game(FIRST, &[0.5, 0.18, 0.7, 0.9])]);
    assert_eq!(both.decided, Some(0.5));
    let drawn = of(game(Outcome::Draw, &[0.5, 0.2]));
    assert_eq!([drawn.drama, drawn.comebacks, drawn.decided], [None; 3]);
    assert_eq!([both.length, both.lengths[0] as f64, both.lengths[1] as f64], [2.5, 1.0, 4.0]);
    assert_eq!(Character::of(&[]), Character::default());
    assert!(of(game(FIRST, &[])).late_uncertainty == 0.0);
}

fn levels(simulations: &[usize]) -> (Opened, Vec<Level>) {
    let rules = Rules::<TicTacToe>::new(&GameOptions::default()).unwrap().opened();
    let level = |simulations: &usize| Level {
        name: format!("{simulations}"),
        is_expert: false,
        contestant: Contestant::searching(
            &rules.game,
            "rollouts",
            &SearchConfig::default().one_by_one(),
            *simulations,
            || Rollout::new(AnyGame::of(TicTacToe)),
        ),
    };
    let levels = simulations.iter().map(level).collect();
    (rules, levels)
}

/// Returns a level by the text of its agent.
fn level(rules: &Opened, text: &str) -> Level {
    let contestant = Contestant::new(rules, &AgentSpec::parse(text).unwrap()).unwrap();
    Level { name: text.into(), is_expert: false, contestant }
}

fn plan(games: usize) -> Plan {
    Plan { games, most: games, within: 0.03, varied_plies: Some(3), solver: 0, seed: 1 }
}

#[test]
fn tic_tac_toe_is_drawn_between_experts_and_not_between_beginners() {
    let (rules, levels) = levels(&[2, 400]);
    let balance = measure(&rules, &levels, &plan(40), &|_| true).unwrap();
    let [beginners, experts] = &balance.levels[..] else { panic!("two levels") };
    assert!(beginners.draws < 0.5 && experts.draws > 0.8, "{} {}", beginners.draws, experts.draws);
    assert!(
        beginners.first_score[0] > 0.5,
        "the player who begins has more marks: {:?}",
        beginners.first_score
    );
    assert!(balance.steps[0].score[1] > 2.0 / 3.0 && balance.skill_chain == 1, "{:?}", balance.steps);
    // nine openings, all of which keep the draw; their games are counted
    assert_eq!(balance.openings.len(), 9);
    assert!(
        balance.openings.iter().all(|opening| (opening.expected - 0.5).abs() < 0.2),
        "{:?}",
        balance.openings
    );
    assert_eq!(balance.openings.iter().map(|opening| opening.games).sum::<usize>(), 40);
    assert!(balance.openings.windows(2).all(|pair| pair[0].expected >= pair[1].expected));
    assert_eq!(balance.squares.heat.iter().flatten().copied().fold(0.0, f32::max), 1.0);
    let page = page::page("T", "A", &[page::Measured::new(&rules, "tic-tac-toe".into(), balance)]);
    assert!(
        page.contains("These games do not yet show whether the game is fair within 3 points; about ")
            && !page.contains("swap rule"),
        "{page}"
    );
}

#[test]
fn the_seed_alone_decides() {
    let text = |seed: u64, threads: usize| {
        let (rules, levels) = levels(&[8, 16]);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let plan = Plan { seed, ..plan(12) };
        serde_json::to_string(&pool.install(|| measure(&rules, &levels, &plan, &|_| true)).unwrap()).unwrap()
    };
    assert_eq!(text(1, 1), text(1, 3));
    assert_ne!(text(1, 1), text(2, 1));
}

#[test]
fn who_does_not_search_has_no_opinion() {
    let (rules, _) = levels(&[1]);
    let error = measure(&rules, &[level(&rules, "random")], &plan(2), &|_| true).unwrap_err().to_string();
    assert!(error.contains("`random` does not search"), "{error}");
    let stopped = measure(&rules, &[level(&rules, "rollout:5")], &plan(2), &|_| false);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn the_solver_is_asked_first() {
    let (rules, mut levels) = levels(&[2, 100]);
    let perfect = Contestant::new(&rules, &AgentSpec::Perfect).unwrap();
    levels.push(Level { name: "perfect play".into(), is_expert: false, contestant: perfect });
    let plan = Plan { solver: proof::USUAL, varied_plies: None, ..plan(40) };
    let balance = measure(&rules, &levels, &plan, &|_| true).unwrap();
    let proof = balance.proof.as_ref().unwrap();
    assert_eq!((proof.outcome, proof.first_actions, proof.known), (Some(Outcome::Draw), 9, 9));
    assert_eq!(proof.keep.len(), 9, "no first action of tic-tac-toe loses");
    // perfect players draw each other and never lose
    let best = balance.levels.last().unwrap();
    // the perfect player knows the result from its first action on, which is the action after the opening
    let opening = balance.book.unwrap().plies;
    assert_eq!((best.draws, best.first_score[0], best.proven_from), (1.0, 0.5, Some(opening)));
    // no game has ten actions
    let stages = &balance.stages;
    for values in [&stages.branching, &stages.pieces, &stages.safe_leads] {
        assert_eq!((values.len(), values[9]), (STAGES, None), "{values:?}");
    }
    assert_eq!(stages.branching[0], Some(9.0));
    assert!(balance.steps[1].score[0] >= 0.5, "{:?}", balance.steps);
    let answer = words::answer(&balance).unwrap();
    assert!(
        answer.starts_with("Proved: with best play, the game is a draw after any first action."),
        "{answer}"
    );
    assert!(balance.openings.iter().all(|first| first.is_proven && first.expected == 0.5));
    // what is proved is reported even without a perfect level
    levels.pop();
    let balance = measure(&rules, &levels, &plan, &|_| true).unwrap();
    assert!(balance.openings.iter().all(|first| first.is_proven && first.expected == 0.5));
}

#[test]
fn perfect_play_at_a_temperature_is_weaker() {
    let (rules, _) = levels(&[1]);
    let levels = [level(&rules, "perfect:t5"), level(&rules, "perfect")];
    let balance = measure(&rules, &levels, &Plan { varied_plies: None, ..plan(60) }, &|_| true).unwrap();
    assert!(balance.levels[0].draws < 0.9 && balance.levels[1].draws == 1.0, "{:?}", balance.levels);
    assert!(balance.steps[0].score[1] > 0.5 && balance.shown == 1, "{:?}", balance.steps);
}

#[test]
fn openings_cost_nothing() {
    let (rules, levels) = levels(&[20, 2000]);
    let plan = Plan { varied_plies: None, ..plan(60) };
    let table = BalanceTable { game: &rules.game, levels: &levels, plan: &plan };
    // the reply to the center: a mark in a corner draws, and one on an edge loses
    let book =
        openings::Book::of(&table, game::Line::default(), &|plies| if plies < 2 { 40 } else { 0 }, &|_| true)
            .unwrap();
    assert_eq!((book.about.plies, book.about.openings), (2, book.lines.len()));
    let mut solver = crate::solve::Solver::new(rules.game.clone(), crate::solve::Limits::default());
    for line in &book.lines {
        let mut state = rules.game.initial();
        line.actions.iter().for_each(|action| rules.game.play(&mut state, *action));
        assert_eq!(solver.outcome(&state).unwrap(), Outcome::Draw, "{:?}", line.actions);
        assert_eq!((line.scores.len(), line.branching[1]), (2, 8));
    }
    assert!(book.about.kept < book.about.judged && book.lines.len() >= 4, "{:?}", book.about);
    // games begin with the book's openings, and no opening is longer than half of a game
    let balance = measure(&rules, &levels, &plan, &|_| true).unwrap();
    assert!(balance.book.is_some_and(|book| (1..=5).contains(&book.plies)), "{:?}", balance.book);
}

/// An evaluator that must not be asked.
struct Unasked;

impl Evaluator<AnyGame> for Unasked {
    fn evaluate(&mut self, _: &[Request<AnyGame>], _: &mut Evaluations) -> Result<()> {
        Err(Error::Config("it was asked".into()))
    }
}

/// Beginners determine neither the length of openings nor their choice.
#[test]
fn the_strongest_level_alone_prepares_openings() {
    let (rules, mut levels) = levels(&[2, 20]);
    let search = SearchConfig::default().one_by_one();
    levels[0].contestant = Contestant::searching(&rules.game, "unasked", &search, 2, || Unasked);
    let plan = Plan { varied_plies: None, ..plan(9) };
    let book = |levels: &[Level]| {
        BalanceTable { game: &rules.game, levels, plan: &plan }
            .book(&|_| true)
            .map(|book| book.about.openings)
    };
    assert!(book(&levels).unwrap() > 1);
    let error = book(&levels[..1]).unwrap_err().to_string();
    assert!(error.contains("it was asked"), "{error}");
}

#[test]
fn openings_are_longer_where_there_are_fewer_than_games() {
    let plies = |games: usize, most: usize| {
        let (rules, levels) = levels(&[2]);
        let plan = Plan { varied_plies: None, most, ..plan(games) };
        let table = BalanceTable { game: &rules.game, levels: &levels, plan: &plan };
        table.book(&|_| true).unwrap().about.plies
    };
    // beginners play 7 to 8 actions; an opening is half or a quarter of that
    assert_eq!([plies(1000, 1000), plies(1, 1000)], [4, 2]);
}

#[test]
fn the_answer_warns_where_experts_differ() {
    let (rules, mut levels) = levels(&[2, 400]);
    let answer =
        |levels: &[Level]| words::answer(&measure(&rules, levels, &plan(200), &|_| true).unwrap()).unwrap();
    let warning = "it may differ for stronger players: at the level below (2), X gets ";
    let beginners = answer(&levels);
    assert!(!beginners.contains(warning), "{beginners}");
    levels.iter_mut().for_each(|level| level.is_expert = true);
    let experts = answer(&levels);
    assert!(experts.contains(warning) && !experts.contains("levels that agree"), "{experts}");
}

#[test]
fn experts_play_on_until_it_is_known() {
    let (rules, mut levels) = levels(&[4, 8]);
    levels.iter_mut().for_each(|level| level.is_expert = true);
    let plan = Plan { most: 400, ..plan(20) };
    let balance = measure(&rules, &levels, &plan, &|_| true).unwrap();
    let verdict = balance.verdict.as_ref().unwrap();
    // beginners lose tic-tac-toe as the second player, but 40 games do not show this
    assert_eq!(verdict.favors, Some(Player::First), "{verdict:?}");
    assert!(verdict.games > 40 && verdict.games <= 800, "{verdict:?}");
    let answer = words::answer(&balance).unwrap();
    assert!(answer.contains("X, who begins, has an advantage"), "{answer}");
}
