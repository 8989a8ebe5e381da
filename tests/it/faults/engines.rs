//! Engines that misbehave in an arena: whatever they do, the match ends, their faults are counted, the arena's own
//! memory stays small, and none of their processes is left.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use super::scene::{Folder, Petteia, Tally};
use super::shim;

/// Shell commands of an engine that is asked for an action, and the number of faults that they must cause in 4 games.
const EVIL: &[(&str, &str, u64)] = &[
    ("hangs", "while :; do sleep 1; done", 4),
    ("stops itself", "kill -STOP $$", 4),
    ("spams", "while :; do echo info string more and more; done", 4),
    ("writes 300 MB in one line", "head -c 300000000 /dev/zero | tr '\\0' x", 4),
    ("writes bytes", "head -c 3000000 /dev/urandom", 4),
    ("writes NULs in its answer", "printf 'bestmove a\\0001\\n'", 4),
    ("writes an answer of 100 kB", "printf 'bestmove %0100000d\\n' 0", 4),
    (
        "starts many",
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & done; wait",
        4,
    ),
    ("leaves some behind and plays", "sleep 1000 & sleep 1000 & echo \"bestmove $free\"", 0),
    (
        "takes 300 MB of memory",
        "head -c 300000000 /dev/zero | tail -c 290000000 > /dev/null; echo bestmove z9",
        4,
    ),
    ("dies", "exit 7", 4),
    ("kills itself", "kill -SEGV $$", 4),
    ("closes its output", "exec >&-; sleep 1000", 4),
    ("closes its input", "exec <&-; echo bestmove z9; sleep 1000", 4),
    ("ignores signals", "trap '' INT TERM HUP PIPE; sleep 1000", 4),
    ("answers late", "sleep 3; echo bestmove a1", 4),
    ("answers twice", "echo \"bestmove $free\"; echo \"bestmove $free\"", 0),
    ("answers nothing", "echo bestmove", 4),
    ("answers what is not legal", "echo bestmove z9", 4),
    ("answers before it is asked and then nothing", "echo readyok; sleep 1000", 4),
    ("writes to standard error without end", "while :; do echo oh >&2; done", 4),
    ("plays well", "echo \"bestmove $free\"", 0),
];

/// Shell commands that an engine runs as soon as it starts, so that no match takes place.
const STILLBORN: &[(&str, &str)] = &[
    ("exits", "exit 0"),
    ("fails", "exit 3"),
    ("is deaf", "sleep 1000"),
    ("hangs and ignores signals", "trap '' INT TERM HUP; while :; do sleep 1; done"),
    ("spams", "while :; do echo no; done"),
    ("has children", "sleep 1000 & sleep 1000 & wait"),
    ("writes bytes without end", "cat /dev/urandom"),
];

fn script(folder: &Folder, go: &str) -> String {
    let place = folder.path.display();
    let text = format!(
        "cd '{place}'\necho $$ >> groups\nposition=\nwhile read -r word rest; do\ncase \"$word\" in\n\
         ugi) echo 'id name evil'; echo ugiok ;;\nisready) echo readyok ;;\nposition) position=$rest ;;\n\
         go) free=\nfor s in a1 a2 a3 b1 b2 b3 c1 c2 c3; do case \"$position \" in *\" $s \"*) ;; *) free=$s ;; esac; \
         done\n\
         {go}\n;;\nquit) exit 0 ;;\nesac\ndone\n"
    );
    format!("ugi:sh '{}'", folder.write("engine.sh", text))
}

fn arena(agent: &str) -> Petteia {
    let arena = ["arena", "tic-tac-toe", agent, "random", "--games", "4", "--opening-plies", "2"];
    Petteia::new(
        &[&arena[..], &["--engine-timeout", "1", "--go", "movetime 100", "--threads", "4", "--json"]]
            .concat(),
    )
}

/// The processes that are alive and belong to one of these groups, or lead one.
fn alive(groups: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(about) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let (name, rest) = about.rsplit_once(')').unwrap();
        // the fields are state, parent and group
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = entry.file_name().to_string_lossy().into_owned();
        if fields[0] != "Z" && groups.iter().any(|group| *group == fields[2] || *group == number) {
            found.push(format!("{name}) {rest}"));
        }
    }
    found
}

/// Waits until none of the engines' processes is left: a killed process does not disappear at once.
fn expect_none_alive(folder: &Folder) {
    if !Path::new("/proc/self/stat").exists() {
        return;
    }
    let groups: Vec<String> =
        fs::read_to_string(folder.path.join("groups")).unwrap().lines().map(String::from).collect();
    assert!(!groups.is_empty());
    (0..3000).take_while(|_| !alive(&groups).is_empty()).for_each(|_| sleep(Duration::from_millis(10)));
    assert!(alive(&groups).is_empty(), "left: {:?}", alive(&groups));
}

#[test]
fn whatever_they_do_they_lose_their_games_and_nothing_else() {
    let mut tally = Tally::default();
    for (what, go, faults) in EVIL {
        tally.check(|| {
            let folder = Folder::new();
            let agent = script(&folder, go);
            let (ended, peak) = shim::peak(arena(&agent));
            ended.in_words(what).succeeds();
            let result: Value = serde_json::from_str(&ended.out).unwrap();
            let counted = &result["faults"][0];
            let counted: u64 = counted.as_object().unwrap().values().filter_map(Value::as_u64).sum();
            assert_eq!(
                (result["games"].as_u64(), counted),
                (Some(4), *faults),
                "an engine that {what}: {result}"
            );
            assert_eq!(
                result["losses"].as_u64().map(|losses| losses >= *faults),
                Some(true),
                "{what}: {result}"
            );
            assert!(
                peak.is_none_or(|peak| peak < 96 << 10),
                "an engine that {what}: the arena took {peak:?} kB"
            );
            expect_none_alive(&folder);
        });
    }
    tally.report("evil engines");
}

#[test]
fn what_never_begins_is_refused() {
    let mut tally = Tally::default();
    for (what, start) in STILLBORN {
        tally.check(|| {
            let folder = Folder::new();
            let place = folder.path.display();
            let script = folder.write("engine.sh", format!("cd '{place}'\necho $$ >> groups\n{start}\n"));
            let ended = arena(&format!("ugi:sh '{script}'")).run();
            ended.names(what, "instead of answering `ugi`");
            assert_eq!(ended.code, Some(2), "an engine that {what}: {ended:?}");
            expect_none_alive(&folder);
        });
    }
    tally.report("engines that never begin");
}
