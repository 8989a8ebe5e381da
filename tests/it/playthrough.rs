//! One random game of every id as text: boards, actions in words, planes drawn; of a long game the middle in
//! one line a ply. A change must be looked at: `PETTEIA_BLESS=1` rewrites the files in `data/playthrough`.

use std::fs;
use std::path::Path;

use petteia::conformance::playthrough;
use petteia::game::{Game, Rules, Settings};
use petteia::games::Games;
use petteia::registry::{Job, Registry};

const SEED: u64 = 7;
struct Playthrough;

impl Job for Playthrough {
    type Output = String;

    fn run<G: Game>(self, rules: Rules<G>) -> String {
        playthrough(&rules, SEED)
    }
}

#[test]
fn playthroughs_are_as_they_were_looked_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/playthrough");
    let bless = std::env::var_os("PETTEIA_BLESS").is_some();
    fs::create_dir_all(&folder).unwrap();
    for id in Games::ids() {
        let now = Games::with_game(&id, &Settings::new(), Playthrough).unwrap();
        let path = folder.join(format!("{id}.txt"));
        if bless {
            fs::write(&path, &now).unwrap();
        }
        let then = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        if let Some(line) = (0..).zip(now.lines().zip(then.lines())).find(|(_, (a, b))| a != b) {
            panic!(
                "{id} differs in line {}; PETTEIA_BLESS=1 accepts it:\n{}\n{}",
                line.0 + 1,
                line.1.0,
                line.1.1
            );
        }
        assert_eq!(now, then, "{id}: another length; PETTEIA_BLESS=1 accepts it");
    }
}
