//! Settings that no longer exist. Old runs still contain such settings, because a run writes all of its settings; a run
//! in which they were off can be resumed.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The settings of the gate, a match that a new network had to win before it played the self-play games.
const GATE: [&str; 6] = ["gate", "gate_elo0", "gate_elo1", "gate_alpha", "gate_beta", "gate_games"];
const NO_GATE: &str = "there is no gate anymore, because its games cost more strength than they gained: remove its \
                       settings; to continue a run that had a gate, resume it with the version that started it, or \
                       start a new run from its weights with a config of your own";

/// The settings of a gate that was off. Every config used to end with these lines. The text whose checksum names the
/// origin of a shard still ends with them, so that shards from that time keep their origin.
pub(crate) const GATE_OFF: &str = "gate = \"none\"\ngate_elo0 = 0.0\ngate_elo1 = 35.0\ngate_alpha = 0.05\n\
                                   gate_beta = 0.05\ngate_games = 400\n";

/// Removes settings that no longer exist from those in a file. A setting that was on stays, and is then unknown.
pub(super) fn drop_if_off(settings: &mut DeTable) {
    if let Some(DeValue::Table(arena)) = settings.get_mut("arena").map(Spanned::get_mut) {
        let is_on = arena.get("gate").is_some_and(|gate| gate.get_ref().as_str() != Some("none"));
        for key in GATE.into_iter().filter(|key| !(is_on && *key == "gate")) {
            arena.remove(key);
        }
    }
}

/// Returns why a setting of this name no longer exists; `None` if it never did.
pub(super) fn why(name: &str) -> Option<&'static str> {
    GATE.contains(&name).then_some(NO_GATE)
}
