//! The commands of `tests/cmd`, with their complete output, so that every change of what users see is reviewed.
//! `TRYCMD=overwrite cargo test --release --test it trycmd` writes the new output, but also what was left out
//! (`...`).

#[test]
fn commands_print_what_is_shown() {
    trycmd::TestCases::new().case("tests/cmd/*.md").case("tests/cmd/*.toml");
}
