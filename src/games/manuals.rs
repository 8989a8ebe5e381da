//! Manuals and brief rules that depend on the variant. The texts are in the folder next to this file.

use super::custodial_trap::Variant;

/// Returns the manual of Cage for a board with this many squares per side. Its examples fit every size.
pub(super) fn cage(side: usize) -> String {
    let between = vec![side.to_string(); side - 3].join("/");
    let position = |second: String| format!("{}B/{between}/{second}/R{} r - 0", side - 1, side - 1);
    include_str!("manuals/cage.txt")
        .replace("STEP", &position(side.to_string()))
        .replace("JUMP", &position(format!("B{}", side - 1)))
}

/// Returns the manual of a variant of Custodial Trap: how it begins, how men act, how it ends.
pub(super) fn custodial_trap(variant: Variant) -> String {
    let play = include_str!("manuals/custodial-trap.txt");
    let reserve = include_str!("manuals/custodial-trap-reserve.txt");
    let [begin, end] = match variant {
        Variant::Intro => [
            include_str!("manuals/custodial-trap-intro.txt"),
            include_str!("manuals/custodial-trap-intro-end.txt"),
        ],
        Variant::Intermediate => [include_str!("manuals/custodial-trap-intermediate.txt"), reserve],
        Variant::Advanced => [include_str!("manuals/custodial-trap-advanced.txt"), reserve],
    };
    [begin, play, end].concat()
}

/// Returns the brief rules of a variant of Custodial Trap.
pub(super) fn custodial_trap_brief(variant: Variant) -> &'static str {
    match variant {
        Variant::Intro => include_str!("manuals/custodial-trap-intro-brief.txt"),
        Variant::Intermediate => include_str!("manuals/custodial-trap-intermediate-brief.txt"),
        Variant::Advanced => include_str!("manuals/custodial-trap-advanced-brief.txt"),
    }
}
