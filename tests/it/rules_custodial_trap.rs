//! The rule sheet of Custodial Trap, sentence by sentence, and a slow, obvious implementation of the rules compared
//! with the fast one.

use std::collections::BTreeSet;

use petteia::board::Symmetry;
use petteia::conformance::check;
use petteia::encode::Planes;
use petteia::game::{Game, GameOptions, Outcome, Player, Settings, Variants};
use petteia::games::custodial_trap::{CustodialTrap, State};

mod advanced;
mod slow;

/// A variant with switches, written as in a config.
fn game(variant: &str, switches: &str) -> CustodialTrap {
    let settings: Settings = toml::from_str(switches).unwrap();
    CustodialTrap::new(&GameOptions { variant: variant.into(), settings }).unwrap()
}

fn intro() -> CustodialTrap {
    game("intro", "")
}

fn intermediate() -> CustodialTrap {
    game("intermediate", "")
}

fn advanced() -> CustodialTrap {
    game("advanced", "")
}

/// A position of phase play with White to move, made from a few ranks; seven men of each side are placed out of the
/// way.
fn middle(ranks: &str) -> State {
    intro().parse_state(&format!("intro bbbbbbb1/8/{ranks}/8/wwwwwww1 w 0/0 0 0 play - -")).unwrap()
}

fn actions(game: &CustodialTrap, state: &State) -> BTreeSet<String> {
    game.legal(state).into_iter().map(|action| game.action_text(state, action)).collect()
}

fn words(texts: &BTreeSet<String>) -> String {
    texts.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// The legal actions whose texts contain `part`.
fn having(game: &CustodialTrap, state: &State, part: &str) -> String {
    words(&actions(game, state).into_iter().filter(|action| action.contains(part)).collect())
}

fn play(game: &CustodialTrap, state: &State, actions: &str) -> State {
    let mut state = *state;
    for text in actions.split_whitespace() {
        let action = game.parse_action(&state, text).unwrap_or_else(|| panic!("{text} is refused"));
        game.play(&mut state, action);
    }
    state
}

fn after(game: &CustodialTrap, text: &str, actions: &str) -> State {
    play(game, &game.parse_state(text).unwrap(), actions)
}

fn numbers(game: &CustodialTrap, state: &State) -> Vec<f32> {
    let mut planes = Planes::new(game.shape());
    game.encode(state, &mut planes);
    let mut numbers = vec![0.0; game.shape().input_len()];
    planes.expand(&mut numbers);
    numbers
}

/// The squares that a plane marks.
fn marked(game: &CustodialTrap, state: &State, plane: usize) -> String {
    let numbers = &numbers(game, state)[plane * 64..][..64];
    let marked = (0..64).filter(|square| numbers[*square] == 1.0);
    words(&marked.map(|square| format!("{}{}", (b'a' + square as u8 % 8) as char, square / 8 + 1)).collect())
}

/// White's trapped men with White to move.
fn trapped(ranks: &str) -> String {
    marked(&intro(), &middle(ranks), 3)
}

const WHITE_WINS: Option<Outcome> = Some(Outcome::Win(Player::First));
const BLACK_WINS: Option<Outcome> = Some(Outcome::Win(Player::Second));

fn outcome(text: &str) -> Option<Outcome> {
    let game = game(text.split(' ').next().unwrap(), "");
    game.outcome(&game.parse_state(text).unwrap())
}

/// "Two colors, 18 men each, 8x8 squares a1..h8." "Start positions (deduced; both must be settable, the
/// alternatives are named starts)"
#[test]
fn start_positions() {
    for (variant, start, reserve) in [
        ("intro", "", 0),
        ("intro", "start = 'quarters'", 0),
        ("intro", "start = 'blocks'", 0),
        ("intermediate", "start = 'standard'", 2),
        ("intermediate", "start = 'blocks'", 2),
        ("advanced", "", 18),
    ] {
        let game = game(variant, start);
        let text = game.state_text(&game.initial());
        let board = text.split(' ').nth(1).unwrap();
        assert!(text.contains(&format!(" {reserve}/{reserve} 0 0 ")), "{text}");
        for color in ['w', 'b'] {
            assert_eq!(board.matches(color).count() + reserve, 18, "{text}");
        }
        assert_eq!(game.parse_state(&text).unwrap(), game.initial());
    }
}

/// "C6 White begins"
#[test]
fn c6_white_begins() {
    for game in [intro(), intermediate()] {
        assert_eq!(game.to_move(&game.initial()), Player::First);
        assert!(game.state_text(&game.initial()).contains(" w "));
    }
    assert_eq!(intro().about().player_names(), ["White", "Black"]);
}

/// "C1 Trapped. A man is trapped when, on at least one of the 4 axes (file, rank, two diagonals), the longest
/// unbroken run of men of its color through it has an enemy man directly at both ends."
#[test]
fn c1_trapped() {
    assert_eq!(trapped("8/2bwb3/8/8"), "d5");
    assert_eq!(trapped("3b4/3w4/3b4/8"), "d5");
    assert_eq!(trapped("2b5/3w4/4b3/8"), "d5");
    assert_eq!(trapped("4b3/3w4/2b5/8"), "d5");
    // runs of every length; an enemy at one end is not enough; a gap breaks the run
    assert_eq!(trapped("8/1bwwwb2/8/8"), "c5 d5 e5");
    assert_eq!(trapped("8/bwwwwwwb/8/8"), "b5 c5 d5 e5 f5 g5");
    assert_eq!(trapped("8/2wb4/8/8"), "");
    assert_eq!(trapped("8/bw1wb3/8/8"), "");
    let state = middle("8/2bwb3/8/8");
    assert_eq!(having(&intro(), &state, "d5"), "");
}

/// "A pure function of the board, evaluated anew after every action. Edges and empty squares never trap
/// (deduced)."
#[test]
fn c1_edges_and_empty_squares_never_trap() {
    assert_eq!(trapped("8/wb4bw/8/8"), "");
    assert_eq!(trapped("8/b1wb4/8/8"), "");
    let state = play(&intro(), &middle("8/2b1b3/3w4/8"), "d4-d5");
    assert_eq!(marked(&intro(), &state, 4), "d5");
    let state = play(&intro(), &state, "e5-f5");
    assert_eq!(marked(&intro(), &state, 3), "");
}

/// "The men at the ends may themselves be trapped; mutual traps exist; a man may move into a trap."
#[test]
fn c1_mutual_traps() {
    let state = middle("8/2bwbw2/8/8");
    assert_eq!((marked(&intro(), &state, 3), marked(&intro(), &state, 4)), ("d5".into(), "e5".into()));
    assert_eq!(having(&intro(), &middle("8/2b1b3/3w4/8"), "d4-d5"), "d4-d5");
}

/// "C2 Slide. An untrapped man moves like a chess queen over empty squares to an empty square."
#[test]
fn c2_slides() {
    let expected = "a4 a7 b2 b4 b6 c3 c4 c5 d2 d3 d5 d6 d7 e3 e4 e5 f2 f4 f6 g4 g7 h4 h8";
    let slides = having(&intro(), &middle("8/8/3w4/8"), "d4-");
    assert_eq!(slides.replace("d4-", ""), expected);
    assert!(!having(&intro(), &middle("8/8/3w4/8"), "d4").contains('x'));
}

/// "C3 Capture. An untrapped man X moves one step in one of the 8 directions onto an adjacent enemy man Y and
/// removes it, when the unbroken run of enemy men that begins with Y in that direction has a man of X's
/// color directly behind its far end."
#[test]
fn c3_captures() {
    let captures = |ranks: &str| having(&intro(), &middle(ranks), "x");
    assert_eq!(captures("8/2wbw3/8/8"), "c5xd5 e5xd5");
    assert_eq!(captures("8/1wbbw3/8/8"), "b5xc5 e5xd5");
    assert_eq!(captures("3w4/3b4/3w4/8"), "d4xd5 d6xd5");
    // nothing behind, the edge behind, a gap in the run; then a man that is itself trapped
    for ranks in ["8/2wb4/8/8", "8/6wb/8/8", "8/2wb1bw1/8/8"] {
        assert_eq!(captures(ranks), "", "{ranks}");
    }
    assert_eq!(captures("8/1bwbw3/8/8"), "e5xd5");
    let state = play(&intro(), &middle("8/2wbw3/8/8"), "c5xd5");
    assert_eq!(intro().state_text(&state), "intro bbbbbbb1/8/8/3ww3/8/8/8/wwwwwww1 b 0/0 0 1 play - -");
    assert_eq!(marked(&intro(), &middle("8/1wbbw3/8/8"), 6), "c5 d5");
}

/// "Never compulsory. Diagonal captures: deduced from the sheet's diagonal example, against its words
/// "vertically or horizontally" (switch `diagonal_capture`, on by default)."
#[test]
fn c3_diagonal_captures() {
    let state = middle("4w3/3b4/2w5/8");
    assert_eq!(having(&intro(), &state, "x"), "c4xd5 e6xd5");
    assert!(having(&intro(), &state, "-").len() > 100);
    let straight = game("intro", "diagonal_capture = false");
    assert_eq!(having(&straight, &state, "x"), "");
    assert_eq!(having(&straight, &state, "-"), having(&intro(), &state, "-"));
    assert_eq!(marked(&straight, &state, 6), "");
    // the diagonal still traps
    assert_eq!(marked(&straight, &state, 4), "d5");
    assert_eq!(having(&straight, &middle("8/2wbw3/8/8"), "x"), "c5xd5 e5xd5");
}

/// "C4 Drop (intermediate, advanced). Instead of moving, put a man of the reserve on any empty inner square.
/// Never compulsory. No pass."
#[test]
fn c4_drops() {
    let text = "intermediate bbbbb3/8/8/8/1w6/8/8/wwwwww2 w 1/2 7 60 play - -";
    let state = intermediate().parse_state(text).unwrap();
    let inner = (0..36).map(|at| format!("@{}{}", (b'b' + at % 6) as char, at / 6 + 2));
    let expected: BTreeSet<String> = inner.filter(|drop| drop != "@b4").collect();
    assert_eq!(having(&intermediate(), &state, "@"), words(&expected));
    assert!(having(&intermediate(), &state, "b4-").len() > 50);
    let dropped = play(&intermediate(), &state, "@g7");
    let text = "intermediate bbbbb3/6w1/8/8/1w6/8/8/wwwwww2 b 0/2 0 61 play - -";
    assert_eq!(intermediate().state_text(&dropped), text);
    let state = play(&intermediate(), &dropped, "@g6");
    // White has no men left to drop
    assert_eq!(having(&intermediate(), &state, "@"), "");
    assert_eq!(having(&intro(), &intro().initial(), "@"), "");
    assert_eq!(intro().parse_action(&intro().initial(), "pass"), None);
}

/// "C5 End, tested after an action of M (O is to move), in this order: a. O has fewer than 7 men left, board
/// and reserve together (deduced) -> M wins"
#[test]
fn c5a_reduced() {
    let text = "intro 8/b1b1b3/8/2wbw3/8/b1b1b3/8/w1w1w1ww w 0/0 0 60 play - -";
    assert_eq!(outcome(text), None);
    assert_eq!(intro().outcome(&after(&intro(), text, "c5xd5")), WHITE_WINS);
    assert_eq!(intro().outcome(&after(&intro(), text, "c5-c6")), None);
    assert_eq!(outcome("intermediate 8/2b1b1b1/8/b1b1b3/8/8/wwww1www/8 b 0/1 0 60 play - -"), None);
    assert_eq!(outcome("intermediate 8/2b1b1b1/8/b1b1b3/8/8/wwww1www/8 b 0/0 0 60 play - -"), WHITE_WINS);
}

/// "b. not intro: M's reserve is empty and its men are one orthogonal group -> M wins"
#[test]
fn c5b_the_mover_is_one_group() {
    let text =
        |reserve: &str| format!("intermediate 8/8/b1bbbbbb/8/8/8/ww1wwwww/2w5 w {reserve} 0 60 play - -");
    let joined = |reserve: &str| {
        let game = intermediate();
        game.outcome(&after(&game, &text(reserve), "c1-c2"))
    };
    assert_eq!(joined("0/0"), WHITE_WINS);
    assert_eq!(joined("0/2"), WHITE_WINS);
    assert_eq!(joined("1/0"), None);
    let game = intermediate();
    // diagonal contact does not join men; in intro, a single group does not win
    assert_eq!(game.outcome(&after(&game, &text("0/0"), "c1-d1")), None);
    assert_eq!(outcome("intro 8/8/b1bbbbbb/8/8/8/wwwwwww1/8 b 0/0 0 60 play - -"), None);
}

/// "c. O has no legal action -> M wins"
#[test]
fn c5c_no_legal_action() {
    let board = "wbbbbbbw/8/wbw5/8/w6w/8/8/1w4w1";
    assert_eq!(outcome(&format!("intro {board} b 0/0 0 60 play - -")), WHITE_WINS);
    assert_eq!(outcome(&format!("intermediate {board} b 0/1 0 60 play - -")), None);
    // before d: Black is one group, but has no legal action
    let board = "wbbbbbbw/wbw5/8/8/8/w1w1w1w1/8/8";
    assert_eq!(outcome(&format!("intermediate {board} b 0/0 0 60 play - -")), WHITE_WINS);
}

/// "d. not intro: O's reserve is empty and its men are one orthogonal group -> O wins"
#[test]
fn c5d_the_other_one_is_one_group() {
    let board = "8/8/bbbbbbb1/8/8/8/ww1wwwww/8";
    assert_eq!(outcome(&format!("intermediate {board} b 0/0 0 60 play - -")), BLACK_WINS);
    assert_eq!(outcome(&format!("intermediate {board} b 0/1 0 60 play - -")), None);
    // b takes precedence
    assert_eq!(outcome("intermediate 8/8/bbbbbbb1/8/8/8/wwwwwww1/8 b 0/0 0 60 play - -"), WHITE_WINS);
}

const SHUTTLE: &str = "intro 8/2b1b1b1/8/b1b1b1b1/8/8/wwwwwww1/8 w 0/0 60 60 play - -";
const ROUND: &str = "a2-a1 a5-a6 a1-a2 a6-a5 ";

/// "e. third occurrence of (board, reserves, side to move) -> draw (deduced; `repetition = 3`)"
#[test]
fn c5e_repetition() {
    let ends_after = |repetition: u8| {
        let game = game("intro", &format!("repetition = {repetition}"));
        let mut state = game.parse_state(SHUTTLE).unwrap();
        for (played, action) in (1..).zip(ROUND.repeat(10).split_whitespace()) {
            state = play(&game, &state, action);
            if game.outcome(&state) == Some(Outcome::Draw) {
                return played;
            }
        }
        0
    };
    assert_eq!([2, 3, 4, 9, 0].map(ends_after), [4, 8, 12, 32, 40]);
    // a cycle over other squares, with the moves in another order, and with a move before it begins
    let other = "g2-h2 e7-e8 a2-a1 a5-a6 b2-b1 g7-g8 b1-b2 g8-g7 a1-a2 a6-a5 a2-b1 e8-d8 b1-a2 d8-e8";
    assert_eq!(intro().outcome(&after(&intro(), SHUTTLE, other)), Some(Outcome::Draw));
    let nearly = other.strip_suffix(" d8-e8").unwrap();
    assert_eq!(intro().outcome(&after(&intro(), SHUTTLE, nearly)), None);
    assert_eq!(intro().outcome(&after(&intro(), SHUTTLE, &format!("{nearly} d8-d7"))), None);
    // if men change places, the position is the same
    let swap = "a2-a1 a5-a6 b2-a2 a6-a7 a1-b2 a7-a5 ".repeat(2);
    assert_eq!(intro().outcome(&after(&intro(), SHUTTLE, &swap)), Some(Outcome::Draw));
}

/// "A position loaded from text starts a new repetition list that contains itself once."
#[test]
fn c5e_text_forgets() {
    let state = after(&intro(), SHUTTLE, &ROUND.repeat(2));
    assert_eq!(intro().outcome(&state), Some(Outcome::Draw));
    let fresh = intro().parse_state(&intro().state_text(&state)).unwrap();
    assert_eq!(fresh, intro().without_history(&state));
    assert_ne!(fresh, state);
    assert_eq!(intro().outcome(&fresh), None);
    let again = play(&intro(), &fresh, ROUND);
    assert_eq!(intro().outcome(&again), None);
    assert_eq!(intro().outcome(&play(&intro(), &again, ROUND)), Some(Outcome::Draw));
    assert!(intro().view(&again).note.contains("occurrence 2"));
}

/// "f. 100 plies in a row without capture or drop -> draw (deduced; `no_progress = 100`)"
#[test]
fn c5f_no_progress() {
    let at = |clock: &str| SHUTTLE.replace(" 60 60 ", &format!(" {clock} 60 "));
    assert_eq!([outcome(&at("99")), outcome(&at("100"))], [None, Some(Outcome::Draw)]);
    assert_eq!(intro().outcome(&after(&intro(), &at("99"), "a2-a1")), Some(Outcome::Draw));
    let short = game("intro", "no_progress = 2");
    assert_eq!(short.outcome(&play(&short, &short.initial(), "b4-a3")), None);
    assert_eq!(short.outcome(&play(&short, &short.initial(), "b4-a3 b5-a6")), Some(Outcome::Draw));
    // "a win comes before the clock"; a capture starts the count anew
    assert_eq!(outcome("intermediate 8/8/b1bbbbbb/8/8/8/wwwwwww1/8 b 0/0 100 60 play - -"), WHITE_WINS);
    let text = "intro b1b1b1bb/8/b1b5/2wbw3/8/8/8/w1w1w1ww w 0/0 99 60 play - -";
    let state = after(&intro(), text, "c5xd5");
    assert_eq!(intro().outcome(&state), None);
    assert!(intro().state_text(&state).contains(" b 0/0 0 61 play"));
}

/// "Symmetry: in phase play all 8 symmetries of the square and the exchange of colors (where the start
/// allows); none during the set-up."
#[test]
fn symmetries() {
    assert_eq!(intro().symmetries(&intro().initial()), Symmetry::SQUARE);
    assert_eq!(advanced().symmetries(&advanced().initial()), [Symmetry::IDENTITY]);
    // exchanging the colors leaves the planes the same
    let white = "intro 8/1bbb4/1b1wbb2/2wwb3/2ww4/2www3/1w3b2/8 w 0/0 5 60 play - -";
    let swapped: String = white["intro ".len()..]
        .split(' ')
        .take(2)
        .map(|field| {
            field
                .chars()
                .map(|c| match c {
                    'w' => 'b',
                    'b' => 'w',
                    c => c,
                })
                .collect::<String>()
        })
        .collect::<Vec<_>>()
        .join(" ");
    let black = format!("intro {swapped} 0/0 5 60 play - -");
    let [white, black] = [white, &black].map(|text| intro().parse_state(text).unwrap());
    assert_eq!(numbers(&intro(), &white), numbers(&intro(), &black));
    assert_eq!(intro().legal(&white), intro().legal(&black));
}

/// The layout that the module's tables promise.
#[test]
fn actions_and_planes_are_laid_out_as_documented() {
    let shapes =
        [intro(), intermediate(), advanced()].map(|game| (game.shape().planes, game.shape().actions));
    assert_eq!(shapes, [(16, 64 * 64), (16, 65 * 64), (29, 67 * 64 + 9)]);
    let index =
        |game: &CustodialTrap, state: &State, text: &str| game.parse_action(state, text).unwrap().index();
    let state = middle("8/8/3w4/8");
    // d4 is square 27; north 1, north-east 4, west 3
    let found = ["d4-d5", "d4-h8", "d4-a4"].map(|text| index(&intro(), &state, text));
    assert_eq!(found, [27, (7 + 3) * 64 + 27, (6 * 7 + 2) * 64 + 27]);
    assert_eq!(index(&intro(), &middle("8/2wbw3/8/8"), "c5xd5"), (56 + 2) * 64 + 34);
    assert_eq!(index(&intermediate(), &intermediate().initial(), "@b2"), 64 * 64 + 9);
    let start = advanced().initial();
    assert_eq!(["W@b2", "B@b2"].map(|text| index(&advanced(), &start, text)), [65 * 64 + 9, 66 * 64 + 9]);
    let text = "intermediate bbbbbbb1/8/8/8/1w6/8/8/wwwwww2 w 1/2 25 60 play - -";
    let state = intermediate().parse_state(text).unwrap();
    let filled: Vec<f32> = (8..16).map(|plane| numbers(&intermediate(), &state)[plane * 64]).collect();
    assert_eq!(filled, [8.0 / 18.0, 0.5, 1.0 / 18.0, 2.0 / 18.0, 0.25, 0.0, 0.0, 1.0]);
    let again = after(&intro(), SHUTTLE, ROUND);
    assert_eq!(numbers(&intro(), &again)[13 * 64], 0.5);
    let chosen = play(&advanced(), &advanced().initial(), "W@c2 B@f7 first:b");
    let filled: Vec<f32> = (16..29).map(|plane| numbers(&advanced(), &chosen)[plane * 64]).collect();
    assert_eq!(filled, [0., 0., 1., 0., 0., 0., 0., 0., 0., 0., 0., 0., 1.]);
}

#[test]
fn no_game_is_longer_than_max_plies() {
    assert_eq!([intro(), intermediate(), advanced()].map(|game| game.max_plies()), [2400, 2800, 6076]);
    assert_eq!(game("intro", "no_progress = 10").max_plies(), 240);
    // a text may contain more plies than that, and counting goes on from there
    let text = "intro 8/1bbbbbb1/1bbbbbb1/1bbbbbb1/1wwwwww1/1wwwwww1/1wwwwww1/8 w 0/0 0 9998 play - -";
    let late = after(&intro(), text, "b2-a1 b7-a8 a1-b2");
    assert_eq!(intro().parse_state(&intro().state_text(&late)).unwrap(), intro().without_history(&late));
}

/// The key contains everything that future play depends on and nothing else; see the module's documentation.
#[test]
fn keys() {
    let key = |game: &CustodialTrap, text: &str| game.key(&game.parse_state(text).unwrap());
    let base = "advanced 8/8/b1bbbbbb/8/8/8/w1wwwww1/8 w 1/1 5 60 play w w";
    for (from, to, same) in [
        (" 60 ", " 61 ", true),
        ("b1b", "bb1", false),
        (" w 1/1 ", " b 1/1 ", false),
        ("1/1", "2/1", false),
        ("1/1", "1/2", false),
        (" 5 ", " 6 ", false),
        ("play w w", "play b w", false),
        ("play w w", "play w b", false),
    ] {
        let other = base.replacen(from, to, 1);
        assert_ne!(base, other);
        assert_eq!(key(&advanced(), base) == key(&advanced(), &other), same, "{from} {to}");
    }
    let choose = "advanced 8/5b2/8/8/8/8/2w5/8 B 17/17 0 3 choose b -";
    for other in
        [choose.replace("choose b", "choose w"), choose.replace("B 17/17 0 3 choose", "A 17/17 0 5 pick")]
    {
        assert_ne!(key(&advanced(), choose), key(&advanced(), &other));
    }
}

/// From the repetition list, the key contains only the occurrences of this position and the positions one short of a
/// draw.
#[test]
fn keys_and_repetition() {
    let remembered = |game: &CustodialTrap, actions: &str| {
        let state = after(game, SHUTTLE, actions);
        game.key(&state) != game.key(&game.without_history(&state))
    };
    let [two, three, never] = [2, 3, 0].map(|number| game("intro", &format!("repetition = {number}")));
    assert!(remembered(&two, "a2-a1") && remembered(&two, "a2-a1 a5-a6"));
    assert!(!remembered(&three, "a2-a1 a5-a6 a1-a2"));
    assert!(remembered(&three, ROUND) && remembered(&three, &format!("{ROUND} b2-b1 c5-c6")));
    assert!(!remembered(&never, &ROUND.repeat(3)));
    // transpositions have different lists but the same key; a capture clears the list
    for game in [&two, &three, &never] {
        let orders = ["a2-a1 a5-a6 b2-b1 c5-c6", "b2-b1 c5-c6 a2-a1 a5-a6", "b2-b1 a5-a6 a2-a1 c5-c6"];
        let keys = orders.map(|order| game.key(&after(game, SHUTTLE, order)));
        let same = keys[0] == keys[1] && keys[1] == keys[2];
        // with repetition = 2, any position passed through could occur again
        assert_eq!(same, !std::ptr::eq(game, &two));
    }
    let text = "intro b1b1b1bb/8/b1b5/2wbw3/8/8/8/w1w1w1ww w 0/0 0 60 play - -";
    let shuttled = after(&three, text, "a1-a2 a6-a5 a2-a1 a5-a6 c5xd5");
    assert_eq!(shuttled, after(&three, &text.replace(" 60 ", " 64 "), "c5xd5"));
}

#[test]
fn wrong_settings_are_refused() {
    let cases = [
        ("intro", "start = 'rows'", "game.start = \"rows\" is not permitted: use standard, quarters, blocks"),
        ("intermediate", "start = 1", "game.start = 1 is not permitted: use standard, blocks"),
        ("advanced", "start = 'x'", "game.start = \"x\" is not permitted: use standard"),
        ("intro", "diagonal_capture = 1", "game.diagonal_capture = 1 is not permitted: use true or false"),
        (
            "intro",
            "repetition = 1",
            "game.repetition = 1 is not permitted: use a whole number from 2 to 9, or 0",
        ),
        ("intro", "repetition = 10", "game.repetition = 10 is not permitted: use a whole number from 2 to 9"),
        ("intro", "repetition = -3", "game.repetition = -3 is not permitted"),
        ("intro", "repetition = '3'", "game.repetition = \"3\" is not permitted"),
        (
            "intro",
            "no_progress = 1",
            "game.no_progress = 1 is not permitted: use a whole number from 2 to 100",
        ),
        ("intro", "no_progress = 101", "game.no_progress = 101 is not permitted"),
        ("intro", "no_progress = 50.0", "game.no_progress = 50.0 is not permitted"),
        ("intro", "swap = true", "`game.swap`: custodial-trap knows start, diagonal_capture, repetition"),
        ("", "", "unknown variant `` of custodial-trap (intro, intermediate, advanced)"),
    ];
    for (variant, switches, expected) in cases {
        let options = GameOptions { variant: variant.into(), settings: toml::from_str(switches).unwrap() };
        let error = CustodialTrap::new(&options).unwrap_err().to_string();
        assert!(error.contains(expected), "{switches}: {error}");
    }
}

#[test]
fn wrong_positions_are_refused_with_the_reason() {
    let play = "intermediate 8/8/b1bbbbbb/8/8/8/w1wwwww1/8 w 1/1 5 60 play - -";
    let set_up = "advanced 8/8/1w6/8/3bw3/8/1wb5/8 B 15/16 0 10 re-b:d4 b -";
    let south = "advanced 8/1bwbwbw1/1wbwbwb1/1bwbwbw1/8/8/8/8 B 9/9 0 38 re-s:- w -";
    let cases = [
        (play, " - -", " -", "nine fields"),
        (play, "- -", "- - ", "nine fields"),
        (play, "intermediate", "intro", "the variant must be intermediate, not `intro`"),
        (play, "8/8/b", "8/b", "the board has 7 ranks"),
        (play, "b1b", "b1x", "rank 6: `x`"),
        (play, " w 1", " A 1", "the side to move must be `w` or `b`, not `A`"),
        (play, "1/1", "11", "the reserves must be two numbers like `2/2`, not `11`"),
        (play, "1/1", "3/1", "a reserve must be a number up to 2, not `3`"),
        (play, "1/1", "1/01", "a reserve must be a number up to 2, not `01`"),
        (play, " 5 ", " 101 ", "plies without a capture or drop must be a number up to 100, not `101`"),
        (play, " 60 ", " +60 ", "plies must be a number up to 9999, not `+60`"),
        (play, " 60 ", " 10000 ", "plies must be a number up to 9999, not `10000`"),
        (play, "play", "choose", "the phase must be one of `play`, not `choose`"),
        (play, "play -", "play w", "the color that goes first must be `-` here, not `w`"),
        (play, "- -", "- w", "the color of A must be `-` here, not `w`"),
        (play, "8/8/b1bbbbbb", "8/8/4bbbb", "Black has just moved with 5 men left, but fewer than 7 lose"),
        (play, "8/8/b1b", "bbbbbbb1/bbbbbbb1/b1b", "Black has 22 men including the reserve, more than 18"),
        (set_up, " B ", " w ", "B acts in this phase, not `w`"),
        (set_up, "re-b:d4", "re-b:a1", "the last square must be one of b2..g7 or `-`, not `a1`"),
        (set_up, "re-b:d4", "re-b", "the phase must be one of `play place: choose"),
        (set_up, "re-b:d4", "play:d4", "the phase must be one of `play place: choose"),
        (set_up, "re-b:d4", "re-b:c2", "the last square of the phase is not the square of the last man put"),
        (set_up, "d4 b", "d4 -", "the color that goes first must be `w` or `b` here, not `-`"),
        (set_up, "b -", "b w", "the color of A must be `-` here, not `w`"),
        (set_up, "15/16", "14/16", "White has 17 men including the reserve, not 18, during the setup"),
        (set_up, "advanced 8/8/1w6", "advanced 8/8/w7", "during the setup men are on b2..g7 only"),
        (set_up, " 0 10 ", " 1 10 ", "plies without a capture or drop are not counted"),
        (set_up, " 10 ", " 6 ", "5 men on the board and 6 plies do not match the phase"),
        (set_up, " 10 ", " 26 ", "5 men on the board and 26 plies do not match the phase"),
        (set_up, "re-b:d4", "re-s:d4", "a half was lifted, but the other one is not full"),
        (south, " 38 ", " 39 ", "18 men on the board and 39 plies do not match the phase"),
    ];
    for (text, from, to, expected) in cases {
        let text = text.replacen(from, to, 1);
        let game = if text.starts_with("adv") { advanced() } else { intermediate() };
        let error = game.parse_state(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "`{text}`: {error}");
        assert!(error.contains("the initial position is `"), "{error}");
    }
    for text in [play, set_up, south] {
        let game = if text.starts_with("adv") { advanced() } else { intermediate() };
        assert_eq!(game.state_text(&game.parse_state(text).unwrap()), text);
    }
}

#[test]
fn text_of_no_action_is_refused() {
    let game = advanced();
    let state = game.parse_state("advanced 8/8/b1bbbbbb/8/8/8/w1wwwww1/8 w 1/1 5 60 play w w").unwrap();
    for text in [
        "", "-", "x", "@", "@a1", "a2", "a2-a2", "a2xa2", "a2-b4", "a2-b2-", "a2xb2", "C@b3", "W@b3", "done",
        "a2-a9",
    ] {
        assert_eq!(game.parse_action(&state, text), None, "{text}");
    }
    assert_eq!(game.touched(&state, game.parse_action(&state, "a2-a5").unwrap()), [(6, 0), (3, 0)]);
    assert_eq!(game.touched(&state, game.parse_action(&state, "@b3").unwrap()), [(5, 1)]);
}

#[test]
fn every_variant_start_and_switch_keeps_the_contract() {
    // only a few games: they are long, and every position is examined in all its symmetries
    let cases = [
        ("intro", "", 6),
        ("intermediate", "", 6),
        ("advanced", "", 6),
        ("intro", "start = 'quarters'", 2),
        ("intermediate", "start = 'blocks'", 2),
        ("intermediate", "diagonal_capture = false", 2),
        ("intro", "repetition = 2", 3),
        ("advanced", "repetition = 0", 2),
        ("intro", "repetition = 9\nno_progress = 50", 2),
        ("advanced", "no_progress = 7", 20),
    ];
    for (variant, switches, games) in cases {
        let games = if cfg!(debug_assertions) { 1 } else { games };
        let report = check(&game(variant, switches), games, 1);
        let report = report.unwrap_or_else(|violation| panic!("{variant} {switches}: {violation}"));
        assert_eq!(report.games, games);
    }
}
