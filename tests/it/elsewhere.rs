//! Games that were played elsewhere: records that say how a game ended beyond the rules, and what reads them.

use petteia::game::{GameOptions, Outcome, Player, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::replay::ended::Ended;
use petteia::replay::played::Played;
use petteia::replay::record::{FORMAT, PLAIN_FORMAT, Record};
use petteia::replay::sample::replayed;

const FIRST: Outcome = Outcome::Win(Player::First);
const SECOND: Outcome = Outcome::Win(Player::Second);

fn rules() -> Rules<ConnectFour> {
    Rules::new(&GameOptions::default()).unwrap()
}

/// A game of these columns.
fn played(columns: &str, outcome: Option<Outcome>, ended: Option<Ended>) -> Played {
    Played { start: None, actions: columns.chars().map(String::from).collect(), outcome, ended }
}

#[test]
fn only_what_contradicts_the_rules_is_refused() {
    let (rules, open, won) = (rules(), "4435", "1212121");
    for ended in Ended::ALL {
        for outcome in [FIRST, SECOND, Outcome::Draw].into_iter().filter(|outcome| ended.allows(*outcome)) {
            let record = played(open, Some(outcome), Some(ended)).record(&rules, 0).unwrap();
            assert_eq!((record.format, record.ended), (FORMAT, Some(ended)));
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(Record::parse(&line).unwrap(), record);
            let found = replayed(&rules, &record).unwrap();
            assert_eq!((found.ending, found.samples.len()), (ended.id(), 4));
            for (sample, mover) in found.samples.iter().zip([Player::First, Player::Second].iter().cycle()) {
                assert_eq!(sample.target.value(), outcome.value_for(*mover));
            }
        }
    }
    let by_rules = played(won, None, None).record(&rules, 0).unwrap();
    assert_eq!((by_rules.format, by_rules.outcome.as_str(), by_rules.ended), (PLAIN_FORMAT, "first", None));
    assert!(!serde_json::to_string(&by_rules).unwrap().contains("ended"));
    assert_eq!(played(won, Some(FIRST), None).record(&rules, 0).unwrap(), by_rules);
    let usual = |outcome| played(open, Some(outcome), None).record(&rules, 0).unwrap().ended;
    assert_eq!([usual(SECOND), usual(Outcome::Draw)], [Some(Ended::Resigned), Some(Ended::Agreed)]);
    let resigned = played(open, Some(SECOND), Some(Ended::Resigned)).record(&rules, 0).unwrap();
    let open = |outcome: &str, ended| Record { outcome: outcome.into(), ended, ..resigned.clone() };
    let won = |outcome: &str, ended| Record { outcome: outcome.into(), ended, ..by_rules.clone() };
    for (record, why) in [
        (open("second", None), "the rules say that the game is not over"),
        (open("draw", Some(Ended::Resigned)), "a game that is resigned has a winner"),
        (open("white", Some(Ended::Time)), "not first, second or draw"),
        (won("second", None), "the rules say first"),
        (won("second", Some(Ended::Time)), "the rules say first"),
        (won("first", Some(Ended::Agreed)), "the rules say that it is over"),
    ] {
        let said = record.replay(&rules, |_| {}).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
    for (columns, outcome, ended, why) in [
        ("4435", None, None, "the game is not over after its last action"),
        ("4435", None, Some(Ended::Time), "the game is not over after its last action"),
        ("4439", Some(FIRST), None, "ply 3: `9` is not legal"),
        ("12121211", Some(FIRST), None, "ply 7: `1` is not legal"),
    ] {
        let said = played(columns, outcome, ended).record(&rules, 0).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
}
