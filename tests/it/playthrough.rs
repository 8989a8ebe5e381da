//! One random game of every id as text: boards, actions in words, and planes as drawings; in a long game, the middle
//! has one line per ply. `PETTEIA_BLESS=1` rewrites the files in `data/playthrough`; review every change to them.

use std::path::Path;

use petteia::any::Opened;
use petteia::conformance::{playthrough, unchanged};
use petteia::game::Settings;
use petteia::games::Games;
use petteia::registry::Registry;

const SEED: u64 = 7;
struct Playthrough;

impl Playthrough {
    fn on(self, rules: Opened) -> String {
        playthrough(&rules, SEED)
    }
}

#[test]
fn playthroughs_are_as_they_were_looked_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/playthrough");
    for id in Games::ids() {
        let now = Games::open(&id, &Settings::new()).map(|rules| Playthrough.on(rules)).unwrap();
        let file = folder.join(format!("{id}.txt"));
        unchanged(&file, &now).unwrap_or_else(|problem| panic!("{problem}"));
    }
}
