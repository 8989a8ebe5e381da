//! Manuals whose examples depend on the variant; the texts are in the folder next to this file.

/// The manual of Cage for a board with this side; its examples fit every size.
pub(super) fn cage(side: usize) -> String {
    let between = vec![side.to_string(); side - 3].join("/");
    let position = |second: String| format!("{}B/{between}/{second}/R{} r - 0", side - 1, side - 1);
    include_str!("manuals/cage.txt")
        .replace("STEP", &position(side.to_string()))
        .replace("JUMP", &position(format!("B{}", side - 1)))
}
