//! `petteia report`: one complete page about a run that needs no other file.

use std::fs;

use crate::support::command::{err, out, petteia};
use crate::support::runs::{self, Finished, PLAIN};

fn text(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

/// Writes the page of some runs.
fn page(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let written = petteia(&[&["report"], arguments, &["--out", text(&path)]].concat(), "");
    assert!(written.status.success(), "{}", err(&written));
    assert!(out(&written).starts_with(&format!("{} (", path.display())), "{}", out(&written));
    fs::read_to_string(path).unwrap()
}

/// Whether the elements of a page that need closing are closed, in order.
fn is_well_formed(page: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((tag, after)) = after.split_once('>') else { return false };
        rest = after;
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.starts_with('!') || tag.ends_with('/') || name == "meta" {
            continue;
        }
        if tag.starts_with('/') {
            if open.pop() != Some(name) {
                return false;
            }
            continue;
        }
        open.push(name);
        if name == "style" {
            rest = rest.split_once("</style>").map_or("", |(_, after)| after);
            open.pop();
        }
    }
    open.is_empty()
}

#[test]
fn a_run_is_a_page_that_needs_nothing_else() {
    let page = page(&[text(&PLAIN.run())]);
    assert!(is_well_formed(&page), "{page}");
    for needs in ["<script", "http://", "https://", "<link", "<img", "@import", "url("] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(needs), "{needs}");
    }
    for title in [
        "Strength",
        "Against its opponent",
        "Policy loss",
        "Value loss",
        "Calibration",
        "Is it balanced?",
        "How games end",
        "Speed of self-play",
        "Time",
        "Games of generation 3",
        "prefers-color-scheme",
        "@media print",
    ] {
        assert!(page.contains(title), "{title}");
    }
    // every chart has its numbers, and a setting of the run is shown next to its default
    assert_eq!(page.matches("class=\"chart\"").count(), page.matches("<summary>Numbers</summary>").count());
    assert!(page.contains("<td><code>net.filters</code></td><td>32</td><td>8</td>"), "{page}");
    assert!(page.contains("Finished: 3 generations"));
    assert!(page.matches("<svg xmlns").count() >= 6, "diagrams of games");
    assert!(page.len() < 400_000, "{}", page.len());
    assert!(!page.contains("NaN") && !page.contains("inf "));
}

#[test]
fn the_numbers_are_those_of_the_metrics() {
    let page = page(&[text(&PLAIN.run())]);
    let lines = fs::read_to_string(PLAIN.run().join("metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.iter().rfind(|line| line["kind"] == "train" && line["generation"] == 2).unwrap();
    let loss = last["policy_loss"].as_f64().unwrap();
    let shown = petteia::report::chart::number(loss);
    let row = page
        .split("<h3>Policy loss</h3>")
        .nth(1)
        .unwrap()
        .split("<tr><th scope=\"row\">2</th>")
        .nth(1)
        .unwrap();
    assert!(row.starts_with(&format!("<td>{shown}</td>")), "{shown}: {}", &row[..60]);
    let played = lines.iter().find(|line| line["kind"] == "selfplay" && line["generation"] == 3).unwrap();
    let [first, draw, games] = ["first", "draw", "games"].map(|key| played[key].as_f64().unwrap());
    let score = petteia::report::chart::number((first + draw / 2.0) / games);
    let row = page
        .split("<h3>Is it balanced?</h3>")
        .nth(1)
        .unwrap()
        .split("<tr><th scope=\"row\">3</th>")
        .nth(1)
        .unwrap();
    assert!(row.starts_with(&format!("<td>{score}</td>")), "{score}: {}", &row[..60]);
}

#[test]
fn runs_of_one_game_are_compared() {
    let other = Finished::new(&["seed=5", "net.filters=4"]);
    let page = page(&[text(&PLAIN.run()), text(&other.run())]);
    assert!(is_well_formed(&page));
    // both folders are called `run`, so more of their paths is shown
    for run in [PLAIN.run(), other.run()] {
        assert!(page.contains(&format!("<th scope=\"col\">{}</th>", run.display())), "{}", run.display());
    }
    assert!(page.contains("<td><code>net.filters</code></td><td>32</td><td>8</td><td>4</td>"));
    assert!(!page.contains("<th>"), "a table heading has no scope");
}

#[test]
fn what_cannot_be_shown_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("page.html");
    let fails = |arguments: &[&str], says: &str| {
        let ended = petteia(&[&["report"], arguments].concat(), "");
        assert!(!ended.status.success() && err(&ended).contains(says), "{}", err(&ended));
    };
    fails(&[text(folder.path()), "--out", text(&out)], "is not a run folder");
    fails(&["nowhere", "--out", text(&out)], "nowhere does not exist");
    let (_kept, empty) = PLAIN.copy(3);
    fs::remove_file(empty.join("metrics.jsonl")).unwrap();
    fails(&[text(&empty), "--out", text(&out)], "has no finished generation of games yet");
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    fails(&[text(&PLAIN.run()), "--out", text(&notes)], "already exists");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "mine");
    assert!(!out.exists());
    // damaged lines and records without a file are left out
    let (_kept, damaged) = PLAIN.copy(3);
    fs::remove_dir_all(damaged.join("selfplay")).unwrap();
    let metrics = damaged.join("metrics.jsonl");
    let lines = fs::read_to_string(&metrics).unwrap();
    fs::write(&metrics, format!("{{\"kind\": 5}}\nnonsense\n{lines}")).unwrap();
    let shown = page(&[text(&damaged)]);
    assert!(shown.contains("Policy loss") && !shown.contains("Games of generation"));
    assert!(shown.contains("2 lines of <code>metrics.jsonl</code> are damaged and left out."));
    assert!(!page(&[text(&PLAIN.run())]).contains("left out"));
}

#[test]
fn training_writes_the_page_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let config = runs::write_config(folder.path());
    let run = folder.path().join("new");
    let trained = petteia(&["train", text(&config), "--run", text(&run), "--threads", "1", "--report"], "");
    assert!(trained.status.success(), "{}", err(&trained));
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(is_well_formed(&page) && page.contains("Finished: 3 generations"));
    // the report is not one of the files that a run keeps track of
    let verified = petteia(&["records", text(&run), "verify"], "");
    assert!(verified.status.success(), "{}", err(&verified));
}

#[test]
fn a_ladder_is_part_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ladder.json");
    let run = PLAIN.run();
    let small =
        ["--anchors", "random", "--simulations", "2", "--games", "12", "--opening-plies", "2", "--json"];
    let played = petteia(&[&["ladder", text(&run)], &small[..]].concat(), "");
    assert!(played.status.success(), "{}", err(&played));
    fs::write(&file, out(&played).as_bytes()).unwrap();
    let shown = page(&[text(&run), "--ladder", text(&file)]);
    assert!(is_well_formed(&shown), "{shown}");
    for part in [
        "12 games between these agents",
        "random has the rating 0",
        "Strength in the ladder",
        ">generation 1<",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!page(&[text(&run)]).contains("Strength in the ladder"));
    // something else, and a ladder of another game
    let refused = |contents: String, part: &str| {
        fs::write(&file, contents).unwrap();
        let said = petteia(&["report", text(&run), "--ladder", text(&file)], "");
        assert!(!said.status.success() && err(&said).contains(part), "{}", err(&said));
    };
    refused("{}".into(), "petteia ladder RUN ... --json > FILE");
    refused(out(&played).replacen("\"game\":\"", "\"game\":\"other-", 1), "is a ladder of other-");
    refused(
        out(&played).replacen("\"options\":{", "\"options\":{\"pie\":true", 1),
        "(in the ladder / in the run): pie = true / not set",
    );
}
