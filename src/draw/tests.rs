use super::*;
use crate::any::Opened;
use crate::conformance::random_game;
use crate::game::{GameOptions, Rules, Settings, Variants};
use crate::games::Games;
use crate::games::caissa::Caissa;
use crate::games::custodial_trap::CustodialTrap;
use crate::games::phage::Phage;
use crate::registry::Registry;

/// Returns whether every element is closed in order and attributes are quoted.
fn is_well_formed(text: &str) -> bool {
    let mut open = Vec::new();
    for part in text.split('<').skip(1) {
        let Some((tag, rest)) = part.split_once('>') else { return false };
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.matches('"').count() % 2 == 1 || rest.contains('>') && name != "style" {
            return false;
        }
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) if open.pop() != Some(name) => return false,
            (false, false) => open.push(name),
            _ => {}
        }
    }
    open.is_empty()
}

struct EveryPosition;

impl EveryPosition {
    fn on(self, rules: Opened) {
        let game = &rules.game;
        let (states, actions) = random_game(game, 7);
        for (ply, state) in states.iter().enumerate() {
            let before = ply.checked_sub(1).map(|before| (&states[before], actions[before]));
            let marks =
                before.map_or_else(Marks::default, |(before, action)| Marks::after(game, before, action));
            let legal = game.legal(state);
            let shares: Vec<_> = legal.iter().map(|&action| (action, 1.0 / legal.len() as f32)).collect();
            let marks = marks.with_shares(game, state, &shares);
            let line = states[ply..].iter().zip(&actions[ply..]).take(3);
            let line: Vec<_> = line.map(|(state, &action)| game.touched(state, action)).collect();
            let numbered = line.iter().filter(|places| !places.is_empty()).count();
            let marks = Marks { line, ..marks };
            let text = file(game, state, &marks, "a <title> & more");
            assert_eq!(text.matches("b-number\"").count(), numbered);
            assert!(is_well_formed(&text), "{}: {text}", rules.identity.id);
            assert!(!text.contains("NaN") && text.contains("a &lt;title&gt; &amp; more"), "{text}");
            let view = game.view(state);
            let places = (0..view.rows.len()).flat_map(|y| (0..view.columns.len()).map(move |x| (y, x)));
            let pieces = places.filter(|&(y, x)| view.owner(y, x).is_some()).count();
            assert_eq!(text.matches("<g class=").count(), pieces, "{}: {text}", rules.identity.id);
            assert_eq!(text.matches("class=\"b-last\"").count(), marks.last.len());
        }
    }
}

#[test]
fn every_game_draws_each_of_its_pieces() {
    for id in Games::ids() {
        Games::open(&id, &Settings::new()).map(|rules| EveryPosition.on(rules)).unwrap();
    }
}

fn drawn<G: Variants>(position: &str, marks: &Marks) -> String {
    let rules = Rules::<G>::new(&GameOptions::default()).unwrap();
    svg(&rules.game, &rules.game.parse_state(position).unwrap(), marks, "a position")
}

#[test]
fn burnt_squares_holes_and_trapped_men_are_shown() {
    let phage = drawn::<Phage>("7d/5t2/3s4/1c6/5Cx1/4S3/2T5/D7 b 6777/7777", &Marks::default());
    assert_eq!(phage.matches("b-closed").count(), 1);

    let caissa = drawn::<Caissa>("7/3bqn1/4r2/7/2R4/1NQB3/5** w - 2", &Marks::default());
    assert_eq!(caissa.matches("h34v34").count(), 47);
    let intro = GameOptions { variant: "intro".into(), ..GameOptions::default() };
    let rules = Rules::<CustodialTrap>::new(&intro).unwrap();
    let (states, _) = random_game(&rules.game, 3);
    let trapped = states.iter().find(|state| !rules.game.stuck(state).is_empty()).expect("a trapped man");
    let text = svg(&rules.game, trapped, &Marks::default(), "trapped");
    assert_eq!(text.matches("<circle class=\"b-stuck\"").count(), rules.game.stuck(trapped).len());
}

#[test]
fn men_in_reserve_stand_below_the_board() {
    let men = |variant: &str, played: usize| {
        let variant = GameOptions { variant: variant.into(), ..GameOptions::default() };
        let rules = Rules::<CustodialTrap>::new(&variant).unwrap();
        let (states, _) = random_game(&rules.game, 3);
        let text = svg(&rules.game, &states[played], &Marks::default(), "reserves");
        assert!(is_well_formed(&text));
        (text.matches("scale(0.45)").count(), rules.game.view(&states[played]).reserves)
    };
    assert_eq!(men("intro", 0), (0, None));
    assert_eq!(men("intermediate", 0), (4, Some([2, 2])));
    assert_eq!(men("advanced", 0), (36, Some([18, 18])));
    let (drawn, reserves) = men("advanced", 9);
    assert!(drawn < 36 && Some(drawn) == reserves.map(|[white, black]| white + black));
}

#[test]
fn weights_are_heat_or_arrows() {
    let marks = Marks {
        weights: vec![
            (vec![(0, 0)], 0.5),
            (vec![(7, 0), (0, 0)], 1.0),
            (vec![], 1.0),
            (vec![(1, 1), (1, 1)], 1.0),
        ],
        targets: vec![(3, 3)],
        ..Marks::default()
    };
    let text = drawn::<Phage>("7d/5t2/3s4/1c6/6C1/4S3/2T5/D7 w 7777/7777", &marks);
    assert_eq!(["b-heat", "b-arrow", "b-target"].map(|class| text.matches(class).count()), [1, 1, 1]);
}

#[test]
fn weights_and_priors_are_told_apart_and_numbered() {
    let arrow = vec![(7, 0), (0, 0)];
    let many = (0..8).map(|x| (vec![(4, x)], 0.1)).collect::<Vec<_>>();
    let marks = Marks {
        weights: [vec![(arrow.clone(), 0.624), (vec![], 1.0), (vec![(1, 1), (1, 1)], 1.0)], many.clone()]
            .concat(),
        priors: vec![(arrow, 0.25), (vec![(4, 4)], 0.02), (vec![(4, 5)], 0.5)],
        numbered: true,
        ..Marks::default()
    };
    let position = "7d/5t2/3s4/1c6/6C1/4S3/2T5/D7 w 7777/7777";
    let text = drawn::<Phage>(position, &marks);
    assert!(is_well_formed(&text));
    let count = |class: &str| text.matches(&format!("class=\"{class}\"")).count();
    assert_eq!(["b-arrow", "b-prior", "b-heat", "b-prior-heat"].map(count), [1, 1, 8, 2]);
    // the largest weights of each kind, if they are visible
    let shares = |class: &str| -> Vec<&str> {
        let begin = format!("<text class=\"{class}\" ");
        let parts = text.split(&begin).skip(1);
        parts.map(|part| part.split(['>', '<']).nth(1).unwrap()).collect()
    };
    assert_eq!(shares("b-share b-prior-share"), ["50", "25"]);
    assert_eq!(shares("b-share"), ["62", "10", "10"]);
    // the two arrows are side by side
    let starts = |class: &str| {
        text.split(&format!("class=\"{class}\"")).nth(1).unwrap().split(" d=").nth(1).unwrap()[..6]
            .to_string()
    };
    assert_ne!(starts("b-arrow"), starts("b-prior"));
    let plain = drawn::<Phage>(position, &Marks { numbered: false, ..marks.clone() });
    assert_eq!(plain.matches("b-share\"").count(), 0);
    assert_ne!(drawn::<Phage>(position, &Marks { turned: true, ..marks }), text);
}

struct Turned;

impl Turned {
    fn on(self, rules: Opened) -> bool {
        let game = &rules.game;
        let (states, actions) = random_game(game, 5);
        let (before, after) = (&states[states.len() / 2 - 1], &states[states.len() / 2]);
        let marks = Marks::after(game, before, actions[states.len() / 2 - 1]);
        let straight = svg(game, after, &marks, "a position");
        let turned = svg(game, after, &Marks { turned: true, ..marks }, "a position");
        if rules.game.about().upright {
            assert_eq!(straight, turned, "{}", rules.identity.id);
            return sit_opposite(game);
        }
        let view = game.view(after);
        let (width, height) = (view.columns.len() * SQUARE, view.rows.len() * SQUARE);
        let pieces = |text: &str, turned: bool| -> Vec<String> {
            let drawn = text.split("<g transform=\"translate(").skip(1);
            // small pieces are beside the board
            let places = drawn.filter(|part| !part.contains(" scale(")).map(|part| {
                let (at, what) = part.split_once(")\">").unwrap();
                let (x, y) = at.split_once(' ').unwrap();
                let [x, y]: [usize; 2] = [x, y].map(|number| number.parse().unwrap());
                let (x, y) = if turned { (width - SQUARE - x, height - SQUARE - y) } else { (x, y) };
                let end = what.find("</g><").map_or(what.len(), |end| end.min(what.len()));
                format!("{x} {y} {}", what[..end].trim_end_matches("</g>"))
            });
            let mut places: Vec<String> = places.collect();
            places.sort();
            places
        };
        assert_eq!(pieces(&straight, false), pieces(&turned, true), "{}", rules.identity.id);
        // in the turned drawing, the name of the first column is below the last column
        let label =
            |x: usize| format!("class=\"b-label\" x=\"{x}\" y=\"{}\">{}<", height + 18, view.columns[0]);
        assert!(straight.contains(&label(SQUARE / 2)) && turned.contains(&label(width - SQUARE / 2)));
        assert_eq!(straight.matches("b-last").count(), turned.matches("b-last").count());
        assert!(is_well_formed(&turned));
        sit_opposite(game)
    }
}

#[test]
fn a_board_is_turned_by_half_unless_it_stands() {
    let opposite: Vec<String> = Games::ids()
        .into_iter()
        .filter(|id| Games::open(id, &Settings::new()).map(|rules| Turned.on(rules)).unwrap())
        .collect();
    assert_eq!(opposite, ["caissa", "custodial-trap-intro", "phage"]);
    // where the pieces stand determines whether the players sit opposite each other
    let start = |name: &str| Settings::from([("start".to_string(), name.into())]);
    assert!(!Games::open("custodial-trap-intro", &start("quarters")).map(|rules| Turned.on(rules)).unwrap());
    assert!(
        Games::open("custodial-trap-intermediate", &start("blocks")).map(|rules| Turned.on(rules)).unwrap()
    );
}

#[test]
fn a_turned_board_keeps_its_dark_squares() {
    let mut drawing = Drawing {
        view: BoardView::of_squares(2, 3, ["X", "O"], |_| ".".into(), String::new()),
        style: BoardStyle::Checkered,
        looks: vec![vec![Look::Empty; 3]; 2],
        colors: ["b-first", "b-second"].map(String::from),
        stuck: Vec::new(),
        dark: 2,
        marks: Marks::default(),
        reserves: None,
        caption: Vec::new(),
    };
    let dark = |drawing: &Drawing| {
        let text = drawing.element("a board", "");
        let path = text.split("b-dark").nth(1).unwrap().split("d=\"").nth(1).unwrap();
        let mut corners: Vec<String> =
            path.split('"').next().unwrap().split('z').map(|part| part.replace("h40v40h-40", "")).collect();
        corners.sort();
        corners
    };
    // a1 is dark: first at the bottom left, then at the top right
    assert_eq!(dark(&drawing), ["", "M0 40", "M40 0", "M80 40"]);
    drawing.turn();
    assert_eq!(dark(&drawing), ["", "M0 0", "M40 40", "M80 0"]);
}

#[test]
fn hexagons_are_drawn_where_their_neighbors_touch_them() {
    let text = |board: &str| {
        format!(
            "game Steps by me\nboard {board}\npiece man W B\nstart man: row 1 | row 4\n\
                 action step man any direction to empty\nstuck: loss\nlimit 9: draw\n"
        )
    };
    for (board, hexagons, has_right) in
        [("hexagon 4", 37, true), ("hex 5 x 4", 20, false), ("triangle 6", 21, false)]
    {
        let text = text(board);
        let options = [("text".to_string(), text.into())].into();
        let rules = crate::registry::Catalog::of::<Games>().open("steps", &options).unwrap();
        let game = &rules.game;
        let start = game.initial();
        for turned in [false, true] {
            let marks = Marks { turned, last: vec![(0, 3)], ..Marks::default() };
            let drawn = svg(game, &start, &marks, "hexagons");
            assert!(is_well_formed(&drawn) && drawn.contains("data-cells=\"hexagons\""), "{drawn}");
            let paths = drawn.split("b-light").nth(1).unwrap().split("/>").next().unwrap();
            assert_eq!(paths.matches('z').count(), hexagons, "{board}");
            assert_eq!(drawn.matches("data-row=").count(), game.view(&start).rows.len());
            // where column labels would be in the way, the row labels are on the right
            assert_eq!(drawn.contains("x=\"293\" y=\"28\" data-row=\"0\""), has_right, "{board}: {drawn}");
        }
    }
}
