//! The commands of `tests/cmd`, with their complete output, so that every change in what users see is reviewed.
//! `TRYCMD=overwrite cargo test --release --test it trycmd` writes the new output, including the parts that were left
//! out (`...`).

#[test]
fn commands_print_what_is_shown() {
    trycmd::TestCases::new().case("tests/cmd/*.md").case("tests/cmd/*.toml");
}
