//! The commands of `tests/cmd`, which show the output whole: what a user sees is looked at when it changes.
//! `TRYCMD=overwrite cargo test --release --test it trycmd` writes the new output, but also what was left out (`...`).

#[test]
fn commands_print_what_is_shown() {
    trycmd::TestCases::new().case("tests/cmd/*.md").case("tests/cmd/*.toml");
}
