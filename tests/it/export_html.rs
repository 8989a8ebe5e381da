//! `petteia export --format html`: what is in the file.

use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::support::command::{fails, out, succeeds};
use crate::support::runs::{PLAIN, text};

/// The text of a script in the file, or the data that it carries.
fn carried<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("there is no {id}"));
    match rest.strip_prefix(" value=\"") {
        Some(value) => value.split_once('"').unwrap().0,
        None => rest[1..].split_once("</").unwrap().0,
    }
}

/// The unpacked data that a script of the file carries.
fn unpacked(page: &str, id: &str) -> Vec<u8> {
    let packed = BASE64_STANDARD.decode(carried(page, id)).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
    bytes
}

fn exported(game: &str, folder: &Path) -> String {
    let file = folder.join(format!("{}.html", game.trim_start_matches('/').replace('/', "-")));
    let said = out(&succeeds(&["export", game, "--format", "html", "--out", text(&file)], ""));
    assert!(said.contains("open it:"), "{said}");
    fs::read_to_string(file).unwrap()
}

#[test]
fn a_page_has_everything_inside_and_asks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    for game in ["phage", "tic-tac-toe", "rules/othello.game", "konane"] {
        let page = exported(game, folder.path());
        assert!(page.len() < 3 << 20, "{game}: {} bytes", page.len());
        assert!(!page.contains("{{"), "{game}: a place is not filled");
        // only the scripts in the file may run
        let scripts = ["<script id=\"answering\">", "<script>"].map(|start| {
            let (_, script) = page.split_once(start).unwrap();
            let digest = Sha256::digest(script.split_once("</script>").unwrap().0);
            format!("'sha256-{}'", BASE64_STANDARD.encode(digest))
        });
        let policy = format!("script-src {} 'wasm-unsafe-eval'", scripts.join(" "));
        assert!(page.contains(&policy), "{game}");
        // the message that is shown if the host does not allow any of these scripts to run
        let (_, main) = page.split_once("<main id=\"main\">").unwrap();
        assert!(main.split_once("</main>").unwrap().0.contains("could not start here"), "{game}");
        // outside of packed data, the only addresses are those of namespaces
        let plain = ["program-code", "agent", "licenses"]
            .iter()
            .fold(page.clone(), |page, id| page.replace(carried(&page, id), ""));
        for (at, _) in plain.match_indices("http") {
            let rest: String = plain[at..].chars().take(40).collect();
            assert!(
                rest.starts_with("http://www.w3.org/") || rest.starts_with("http-equiv"),
                "{game}: {rest}"
            );
        }
        let contents: serde_json::Value = serde_json::from_str(carried(&page, "contents")).unwrap();
        let id = contents["game"].as_str().unwrap();
        assert!(game.contains(id), "{contents}");
        assert_eq!(contents["options"].get("text").is_some(), ["othello", "konane"].contains(&id));
        let agent = unpacked(&page, "agent");
        let expected = if game == "phage" { fs::read("agents/phage.safetensors").unwrap().len() } else { 0 };
        assert!(agent.len().abs_diff(expected) < 4096, "{game}: an agent of {} bytes", agent.len());
        let program = BASE64_STANDARD.decode(carried(&page, "program-code")).unwrap();
        assert_eq!(program, fs::read("assets/wasm/petteia.wasm.gz").unwrap());
        let licenses = String::from_utf8(unpacked(&page, "licenses")).unwrap();
        assert!(licenses.contains("Permission is hereby granted") && licenses.contains("serde_json"));
    }
}

#[test]
fn a_page_is_ascii_whatever_its_game_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nine.game");
    let text_of = fs::read_to_string("rules/konane.game").unwrap();
    let (_, rest) = text_of.split_once('\n').unwrap();
    fs::write(&file, format!("game K\u{14d}nane \u{1f33a} \u{2026} by \u{c9}mile\n{rest}")).unwrap();
    let page = exported(text(&file), folder.path());
    let beyond = page.bytes().position(|byte| !byte.is_ascii());
    assert_eq!(beyond, None, "{:?}", beyond.map(|at| &page[at.saturating_sub(40)..at]));
    assert!(page.contains("<title>K&#333;nane &#127802; &#8230;</title>"));
    let contents: serde_json::Value = serde_json::from_str(carried(&page, "contents")).unwrap();
    let rules = contents["options"]["text"].as_str().unwrap();
    assert!(rules.contains("K\u{14d}nane \u{1f33a} \u{2026}"), "{rules}");
}

#[test]
fn levels_are_those_of_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let contents = |game: &str| -> serde_json::Value {
        serde_json::from_str(carried(&exported(game, folder.path()), "contents")).unwrap()
    };
    let shipped = contents("phage");
    let levels = fs::read_to_string("agents/phage.levels").unwrap();
    assert_eq!((&shipped["agent"], &shipped["levels"]), (&json!("shipped agent"), &json!(levels)));
    // a balance that was measured with the shipped agent says nothing about another agent
    let other = contents("agents/phage.safetensors");
    assert_eq!(other["levels"], json!(null));
    assert!(other["agent"].as_str().unwrap().starts_with("agent, generation "), "{other}");
    let run = contents(text(&PLAIN.run()));
    let name = format!("agent of {}, generation ", PLAIN.run().file_name().unwrap().display());
    assert!(run["agent"].as_str().unwrap().starts_with(&name), "{run}");
    // a small game has a perfect player without a network
    assert_eq!(contents("tic-tac-toe")["agent"], json!("shipped agent"));
    assert_eq!(contents("rules/othello.game")["agent"], json!("no trained agent"));
}

#[test]
fn flags_of_a_bot_are_for_bots() {
    for format in ["html", "onnx"] {
        fails(&["export", "phage", "--format", format, "--threads", "2"], 2, &["only to --format bot"]);
    }
}

#[test]
fn what_cannot_be_a_page_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let refused = |source: &str, why: &str| {
        fails(&["export", source, "--format", "html", "--out", text(&file)], 2, &[why]);
    };
    refused("phag", "did you mean `phage`?");
    fs::write(folder.path().join("wrong.game"), "board 3 x").unwrap();
    refused(text(&folder.path().join("wrong.game")), "line 1, column");
    assert!(!file.exists());
    fs::write(&file, "mine").unwrap();
    refused("phage", "exists");
}

#[test]
fn a_site_links_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("public");
    let write =
        |games: &[&str]| succeeds(&[&["site", text(&site), "--title", "Ours & more"], games].concat(), "");
    succeeds(&["site", text(&site), "tic-tac-toe", "rules/brandubh.game"], "");
    // rewrite the site with another title, after a balance page was added to its folder
    fs::write(site.join("brandubh-balance.html"), "balance").unwrap();
    write(&["tic-tac-toe", "rules/brandubh.game", "--balance"]);
    assert_eq!(fs::read_to_string(site.join("brandubh-balance.html")).unwrap(), "balance");
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    assert!(index.contains("<title>Ours &amp; more</title>"));
    let links: Vec<&str> =
        index.match_indices("href=\"").map(|(at, start)| &index[at + start.len()..]).collect();
    let links: Vec<&str> = links.iter().map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(links.len(), 8, "{links:?}");
    for link in links {
        assert!(site.join(link).is_file(), "{link} leads nowhere");
    }
    assert!(fs::read_to_string(site.join("tic-tac-toe-rules.html")).unwrap().contains("<svg"));
    fails(&["site", text(&site), "tic-tac-toe", "tic-tac-toe"], 2, &["tic-tac-toe is given twice"]);
    fs::write(site.join("phage.html"), "mine").unwrap();
    fails(&["site", text(&site), "phage"], 2, &["exists"]);
    // the arguments are exchanged, or the folder belongs to something else
    let run = folder.path().join("run");
    fs::create_dir_all(run.join("checkpoints")).unwrap();
    fs::write(run.join("config.toml"), "config_format = 2\ngame.id = \"phage\"\n").unwrap();
    fails(&["site", text(&run), "phage"], 2, &["is the folder of a run", "petteia site public"]);
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join(".nojekyll"), "").unwrap();
    succeeds(&["site", text(&other), "tic-tac-toe"], "");
    fs::remove_file(other.join("index.html")).unwrap();
    fs::write(other.join("notes.txt"), "mine").unwrap();
    fails(&["site", text(&other), "tic-tac-toe"], 2, &["has other files, such as", "notes.txt"]);
    assert!(!run.join("index.html").exists() && !other.join("index.html").exists());
    assert_eq!(fs::read_to_string(site.join("phage.html")).unwrap(), "mine");
}
