//! Standard streams that are closed, full or not read: no command panics, a pipe that nobody reads is not an error,
//! and a full device is one.

use std::fs;
use std::process::{Command, Stdio};

use super::scene::{Folder, Petteia, RUN, Tally};

/// Runs the program as `"$0" "$@"` in a shell script, which writes its exit code to `$CODE`.
fn through(script: &str, arguments: &[&str], input: &str) -> (i32, String) {
    let folder = Folder::new();
    let (code, input) = (folder.at("code"), folder.write("input", input));
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_petteia")]).args(arguments).env("CODE", &code);
    command.stdin(fs::File::open(input).unwrap()).stdout(Stdio::null());
    let output = command.output().unwrap();
    let code = fs::read_to_string(code).unwrap().trim().parse().unwrap();
    (code, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn streams_that_are_closed_full_or_not_read() {
    let run = RUN.path.display().to_string();
    let folder = Folder::new();
    let (new, pages) = (folder.at("new"), folder.at("man"));
    let agent = format!("{run}:4");
    let commands: [(&[&str], &str); 13] = [
        (&["games"], ""),
        (&["help", "train"], ""),
        (&["completions", "bash"], ""),
        (&["man", &pages], ""),
        (&["perft", "tic-tac-toe", "--depth", "3"], ""),
        (&["records", &run], ""),
        (&["records", &run, "convert", "--format", "csv"], ""),
        (&["inspect", &run], ""),
        (&["analyze", "tic-tac-toe", "--agent", &agent], ".../.../... X\n"),
        (&["replay", "tic-tac-toe", "--board"], "a1 b2\n"),
        (&["arena", "tic-tac-toe", "random", "random", "--games", "4"], ""),
        (&["engine", "tic-tac-toe", "--agent", "uniform:4"], "ugi\ngo nodes 4\n"),
        (&["train", &RUN.config, "--run", &new, "--threads", "1"], ""),
    ];
    let mut tally = Tally::default();
    for (arguments, input) in commands {
        for (what, script, codes) in [
            ("standard output is closed", "\"$0\" \"$@\" >&-; echo $? > \"$CODE\"", 0..=1),
            ("standard error is closed", "\"$0\" \"$@\" 2>&-; echo $? > \"$CODE\"", 0..=0),
            ("both are closed", "\"$0\" \"$@\" >&- 2>&-; echo $? > \"$CODE\"", 0..=1),
            ("standard input is closed", "\"$0\" \"$@\" <&-; echo $? > \"$CODE\"", 0..=1),
            ("nobody reads", "{ \"$0\" \"$@\"; echo $? > \"$CODE\"; } | true", 0..=0),
            ("one byte is read", "{ \"$0\" \"$@\"; echo $? > \"$CODE\"; } | head -c 1", 0..=0),
            ("both pipes are closed", "{ \"$0\" \"$@\" 2>&1; echo $? > \"$CODE\"; } | true", 0..=0),
        ] {
            tally.check(|| {
                let _ = fs::remove_dir_all(&new);
                let (code, err) = through(script, arguments, input);
                assert!(
                    codes.contains(&code) && !err.contains("panicked"),
                    "{arguments:?}, {what}: {code}, {err}"
                );
            });
        }
        if !std::path::Path::new("/dev/full").exists() {
            continue;
        }
        tally.check(|| {
            let _ = fs::remove_dir_all(&new);
            let (code, err) = through("\"$0\" \"$@\" > /dev/full; echo $? > \"$CODE\"", arguments, input);
            let writes = !Petteia::new(arguments).hearing(input).run().out.is_empty();
            // help is printed by clap, which does not check whether printing succeeded
            let expected = (writes && arguments[0] != "help") as i32;
            assert!(code == expected && !err.contains("panicked"), "{arguments:?}, /dev/full: {code}, {err}");
        });
    }
    tally.report("streams");
}
