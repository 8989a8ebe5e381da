//! What the program carries for its games: configs and agents, by name, without a file.

use std::fs;
use std::path::Path;

use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::checkpoint::Checkpoint;
use petteia::config::{Config, Precision};
use petteia::game::Settings;
use petteia::games::Games;
use petteia::registry::{Catalog, Registry};
use serde_json::json;

use crate::support::command::{elsewhere, err, fails, json_lines, out, petteia, succeeds};
use crate::support::runs::{PLAIN, text};
#[cfg(feature = "web")]
use crate::support::server::Server;

fn games() -> Catalog {
    Catalog::of::<Games>()
}

#[test]
fn every_config_but_the_smallest_is_shipped() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        names.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "smoke");
    names.sort();
    let mut shipped = games().config_names();
    shipped.sort();
    assert_eq!(shipped, names);
    for name in shipped {
        let shipped = games().config(name).unwrap();
        assert_eq!(shipped, fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap());
        let config = Config::parse(name, shipped, &[]).unwrap();
        assert!(name.starts_with(&config.game.id) && games().ids().contains(&config.game.id), "{name}");
    }
    assert!(Games::ids().iter().all(|id| games().config(id).is_some()));
}

#[test]
fn every_shipped_agent_plays_its_game() {
    let with_agent = Games::ids().into_iter().filter(|id| games().shipped_for(id).agent.is_some());
    let mut played = 0;
    for id in with_agent {
        let rules = games().open(&id, &Settings::new()).unwrap();
        assert_eq!(AgentSpec::usual(&rules), AgentSpec::Shipped(100, None), "{id}");
        let agent = Contestant::new(&rules, &AgentSpec::parse("shipped:8").unwrap()).unwrap();
        assert!(agent.searches() && agent.identity().starts_with("shipped:8, SHA-256 "), "{id}");
        played += 1;
    }
    assert_eq!(played, Games::ids().len() - 2);
}

#[test]
fn where_perfect_play_is_proved_it_is_shipped() {
    for id in ["tic-tac-toe", "cage-4"] {
        let rules = games().open(id, &Settings::new()).unwrap();
        assert_eq!(AgentSpec::shipped(&rules).unwrap(), AgentSpec::Perfect);
        let agent = Contestant::new(&rules, &AgentSpec::parse("shipped").unwrap()).unwrap();
        assert_eq!(agent.identity(), "shipped, perfect play");
        assert!(agent.solver().is_some());
        fails(
            &["export", id],
            2,
            &[&format!("the shipped agent of {id} is perfect play, which has no network")],
        );
        fails(&["engine", id, "--agent", "shipped"], 2, &["does not search"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let run = elsewhere(folder.path(), &["arena", "cage-4", "random", "--games", "2"], "");
    assert!(err(&run).contains("the opponent is `shipped`, which is proved perfect"), "{}", err(&run));
}

#[test]
fn the_word_is_an_agent_like_others() {
    for (written, spec, shown) in [
        ("shipped", AgentSpec::Shipped(100, None), "shipped:100"),
        ("shipped:7", AgentSpec::Shipped(7, None), "shipped:7"),
        ("shipped:f32", AgentSpec::Shipped(100, Some(Precision::F32)), "shipped:100:f32"),
        ("shipped:7:auto", AgentSpec::Shipped(7, Some(Precision::Auto)), "shipped:7:auto"),
    ] {
        assert_eq!(AgentSpec::parse(written).unwrap(), spec);
        assert_eq!(spec.to_string(), shown);
        assert_eq!(AgentSpec::parse(shown).unwrap(), spec);
    }
    let error = |written: &str| AgentSpec::parse(written).unwrap_err().to_string();
    assert!(error("shipped:0").contains("`0` is not a number of simulations"));
    assert!(error("shiped").contains("did you mean `shipped`?"));
    assert_eq!(AgentSpec::Shipped(100, None).with_simulations(9), AgentSpec::Shipped(9, None));
    let fastest = AgentSpec::Shipped(100, Some(Precision::Auto));
    assert_eq!(AgentSpec::Shipped(100, None).at_full_speed(), fastest);
}

#[test]
fn a_game_without_an_agent_says_so() {
    // the agent was trained with the game's usual options
    let options = [("start".to_string(), "quarters".into())].into();
    let other = games().open("custodial-trap-intro", &options).unwrap();
    assert_eq!(AgentSpec::usual(&other), AgentSpec::Rollout(400));
    let error = Contestant::new(&other, &AgentSpec::Shipped(4, None)).err().unwrap().to_string();
    assert!(
        error.starts_with("the shipped agent of custodial-trap-intro has different game options"),
        "{error}"
    );
}

#[test]
fn a_file_of_the_same_name_is_written_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shipped"), "no agent").unwrap();
    let word = elsewhere(folder.path(), &["arena", "cage-6", "shipped:1", "random", "--games", "2"], "");
    assert!(word.status.success(), "{}", err(&word));
    let path = elsewhere(folder.path(), &["arena", "cage-6", "./shipped:1", "random", "--games", "2"], "");
    assert!(err(&path).contains("./shipped is not a safetensors file or bot"), "{}", err(&path));
}

#[test]
fn an_opponent_that_is_not_named_is_the_shipped_one() {
    let folder = tempfile::tempdir().unwrap();
    let play = |arguments: &[&str]| out(&elsewhere(folder.path(), arguments, "quit\n"));
    let first = |text: String| text.lines().next().unwrap_or_default().to_string();
    assert_eq!(
        first(play(&["play", "cage-6"])),
        "Your opponent plays at level 5 of 9 (--level N or --opponent AGENT chooses another)."
    );
    assert_eq!(
        first(play(&["play", "tic-tac-toe", "--level", "9"])),
        "Your opponent plays at level 9 of 9, which is proved perfect (--level N or --opponent AGENT chooses another)."
    );
    assert_eq!(
        first(play(&["play", "custodial-trap-intro", "--set", "game.start=quarters"])),
        "Your opponent is `rollout:400`, because there is no shipped agent for custodial-trap-intro with these options \
            (--opponent AGENT chooses another)."
    );
    assert!(first(play(&["play", "cage-6", "--opponent", "random"])).starts_with("Cage ("));
    let analyzed = elsewhere(folder.path(), &["analyze", "cage-6"], "startpos\n");
    assert!(err(&analyzed).starts_with("the agent is `shipped`"), "{}", err(&analyzed));
    assert!(out(&analyzed).starts_with("{\"action\":"), "{}", out(&analyzed));
    let spoken = elsewhere(folder.path(), &["engine", "cage-6"], "ugi\nisready\nquit\n");
    assert!(out(&spoken).contains("readyok"), "{}", err(&spoken));
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("sets/cage-6.jsonl.zst");
    if set.exists() {
        let measured = ["accuracy", "cage-6", "--set", text(&set), "--simulations", "0"];
        let measured = out(&elsewhere(folder.path(), &measured, ""));
        assert!(measured.contains("shipped, policy alone"), "{measured}");
    }
}

#[test]
fn a_run_stands_for_its_game() {
    let run = PLAIN.run();
    let run = text(&run);
    let with_simulations = format!("{run}:4");
    let played = out(&succeeds(&["play", run], "quit\n"));
    assert!(played.starts_with("Tic-tac-toe ("), "{played}");
    let matched = succeeds(&["arena", &with_simulations, "random", "--games", "2"], "");
    assert!(out(&matched).starts_with(&format!("{with_simulations} against random: ")), "{}", out(&matched));
    let matched = succeeds(&["arena", &with_simulations, "--games", "2"], "");
    assert!(
        err(&matched).starts_with("the opponent is `shipped`, which is proved perfect"),
        "{}",
        err(&matched)
    );
    let analyzed = json_lines(&succeeds(&["analyze", &with_simulations], "startpos\n"));
    assert_eq!(analyzed[0]["position"], ".../.../... X");
    assert!(out(&succeeds(&["engine", run], "ugi\nquit\n")).contains("ugiok"));
    assert!(out(&succeeds(&["rules", run], "")).starts_with("Tic-tac-toe"));
    let levels = ["balance", run, "--games", "2", "--most-games", "2", "--simulations", "4", "--json"];
    assert!(out(&succeeds(&levels, "")).contains("generation 3, 16 simulations"));
    fails(&["arena", run, "random", "random"], 2, &["is the first agent", "name the game tic-tac-toe"]);
    fails(&["arena", "cage-6"], 2, &["name two agents"]);
    fails(&["play", "shipped"], 2, &["each game has its own shipped agent"]);
    fails(&["play", "runs/none"], 2, &["neither a game nor an agent: runs/none does not exist"]);
    fails(
        &["play", "README.md"],
        1,
        &["README.md is not a safetensors file or bot", "an agent is such a file, a run"],
    );
    fails(&["arena", "cage-6", "configs/cage.toml", "random"], 1, &["it looks like a config"]);
    fails(&["play", "connect4"], 2, &["did you mean `connect-four`?"]);
}

#[test]
fn an_export_is_named_after_its_game() {
    let folder = tempfile::tempdir().unwrap();
    let run = PLAIN.run();
    for (source, format, file) in [
        (text(&run), "bot", "tic-tac-toe-bot"),
        (text(&run), "onnx", "tic-tac-toe.onnx"),
        ("cage-6", "safetensors", "cage-6.safetensors"),
        ("cage-6", "onnx", "cage-6.onnx"),
        ("cage-6", "bot", "cage-6-bot"),
    ] {
        let written = elsewhere(folder.path(), &["export", source, "--format", format], "");
        assert!(out(&written).starts_with(&format!("{file}: ")), "{}{}", out(&written), err(&written));
        assert!(folder.path().join(file).is_file());
    }
    let written = Checkpoint::find(&folder.path().join("cage-6.safetensors")).unwrap();
    let shipped = Checkpoint::shipped(games().shipped_for("cage-6").agent.unwrap()).unwrap();
    assert_eq!(written.tensors_sha256(), shipped.tensors_sha256());
    assert_eq!(written.network().unwrap(), shipped.network().unwrap());
    let again = elsewhere(folder.path(), &["export", text(&run)], "");
    assert!(err(&again).contains("tic-tac-toe-bot already exists"), "{}", err(&again));
    fails(&["export", "shipped"], 2, &["each game has its own shipped agent"]);
}

#[test]
fn a_name_is_a_config() {
    let folder = tempfile::tempdir().unwrap();
    let train = |arguments: &[&str]| elsewhere(folder.path(), &[&["train"], arguments].concat(), "");
    let plan = |arguments: &[&str]| {
        let planned = train(&[arguments, &["--dry-run"]].concat());
        assert!(planned.status.success(), "{}", err(&planned));
        out(&planned)
    };
    let shipped = plan(&["tic-tac-toe"]);
    let lines: Vec<&str> = shipped.lines().collect();
    assert_eq!(lines[0], "tic-tac-toe: using the shipped config; `petteia config tic-tac-toe` prints it");
    assert!(
        lines[1].starts_with("tic-tac-toe: 12 generations into runs/tic-tac-toe, network 16x2"),
        "{shipped}"
    );
    assert!(lines.iter().any(|line| line.starts_with("  about ") && line.contains("of disk")), "{shipped}");
    assert!(
        lines[lines.len() - 1]
            .ends_with("without --dry-run, this command trains 12 generations in runs/tic-tac-toe"),
        "{shipped}"
    );
    assert!(
        plan(&["connect-four-64x5", "--set", "net.precision=f32", "--set", "train.precision=f32"])
            .contains("into runs/connect-four-64x5, network 64x5")
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
    // a file of exactly this name wins
    fs::write(folder.path().join("tic-tac-toe"), crate::support::runs::CONFIG).unwrap();
    let file = plan(&["tic-tac-toe"]);
    assert!(
        file.starts_with("tic-tac-toe: using the file with this name, not the shipped config\n"),
        "{file}"
    );
    assert!(file.contains("3 generations into runs/tic-tac-toe"), "{file}");
    let says = |arguments: &[&str], part: &str| {
        let refused = train(arguments);
        assert!(refused.status.code() == Some(2) && err(&refused).contains(part), "{}", err(&refused));
    };
    says(&["configs/phage.toml"], "`configs/phage.toml` does not exist; `petteia train phage` needs no file");
    says(&["phage.toml"], "`petteia train phage` needs no file");
    says(&["phagee"], "did you mean `petteia train phage`?");
    says(
        &["zzzzzz"],
        "`zzzzzz` is not a file, a shipped config, or a game; these names need no file: cage, ",
    );
    let from = train(&["tic-tac-toe", "--from", "nowhere", "--run", "x", "--dry-run"]);
    assert!(!from.status.success() && err(&from).contains("nowhere does not exist"), "{}", err(&from));
}

#[test]
fn a_run_is_compared_with_the_shipped_agent() {
    let folder = tempfile::tempdir().unwrap();
    let sets = "selfplay.games=4 selfplay.bootstrap_games=4 selfplay.bootstrap_simulations=4 train.generations=1 \
                net.filters=4 net.blocks=1 arena.games=0 arena.final_games=2 arena.simulations=4 \
                arena.opponent=shipped:4";
    let sets = sets.split_whitespace().flat_map(|set| ["--set", set]);
    let arguments: Vec<&str> = ["train", "cage-6"].into_iter().chain(sets).collect();
    let trained = elsewhere(folder.path(), &arguments, "");
    let (said, printed) = (err(&trained), out(&trained));
    assert!(
        said.starts_with("cage-6: using the shipped config; `petteia config cage-6` prints it\n"),
        "{said}"
    );
    assert!(printed.contains("strength at 4 simulations against shipped:4: "), "{said}{printed}");
    assert!(printed.contains("play runs/cage-6\n") && printed.contains("export runs/cage-6\n"), "{printed}");
    assert!(folder.path().join("runs/cage-6/config.toml").is_file());
}

#[test]
fn a_plan_is_that_of_the_folder() {
    let run = PLAIN.run();
    let run = text(&run);
    let planned = out(&succeeds(&["train", "--run", run, "--generations", "5", "--dry-run"], ""));
    assert!(planned.contains("tic-tac-toe: resumed after generation 3 of 5 in "), "{planned}");
    assert!(planned.contains("without --dry-run, this command trains 2 generations in"), "{planned}");
    // the former name of the flag
    let done = out(&succeeds(&["train", "--run", run, "--check"], ""));
    assert!(done.contains("is already complete"), "{done}");
    fails(&["train", "tic-tac-toe", "--run", run, "--dry-run"], 2, &["exists with different settings"]);
    fails(&["train", "tic-tac-toe", "--run", "src", "--dry-run"], 2, &["is not a run folder"]);
}

/// Whatever training refuses, `--dry-run` refuses in the same words.
#[test]
fn a_plan_is_refused_as_the_training_is() {
    let run = PLAIN.run();
    let (run, folder) = (text(&run), tempfile::tempdir().unwrap());
    let (new, config) = (folder.path().join("new"), folder.path().join("plain.toml"));
    fs::write(&config, crate::support::runs::CONFIG).unwrap();
    let (new, config) = (text(&new), text(&config));
    let begun = ["--set", "selfplay.bootstrap_games=0"];
    for (arguments, part) in [
        (vec!["--run", run, "--set", "search.simulations=9"], "exists with different settings"),
        (vec!["--run", run, "--generations", "2"], "so it cannot end after 2"),
        (vec!["--fork", run, "--at", "99", "--run", new], "no checkpoint of generation 99"),
        (vec!["--fork", run, "--run", new, "--set", "net.filters=9"], "a different network"),
        (vec!["--fork", run, "--run", run], "is not a fork of"),
        (vec![config, "--from", run, "--run", run, begun[0], begun[1]], "did not begin with the weights of"),
        (vec![config, "--from", run, "--run", "src"], "already exists"),
        (vec![config, "--from", run, "--run", new, "--set", "net.blocks=3"], "a different network"),
        (vec!["tic-tac-toe", "--from", "agents/phage.safetensors", "--run", new], "phage"),
    ] {
        let refused = [&["train"], &arguments[..]].concat();
        let planned = [&refused[..], &["--dry-run"]].concat();
        let [refused, planned] = [refused, planned].map(|arguments| petteia(&arguments, ""));
        assert!(
            !refused.status.success() && err(&refused).contains(part),
            "{arguments:?}: {}",
            err(&refused)
        );
        let last = |output| err(output).lines().rfind(|line| line.starts_with("error:")).map(String::from);
        assert_eq!(last(&planned), last(&refused), "{arguments:?}");
        assert_eq!(planned.status.code(), refused.status.code(), "{arguments:?}");
    }
    assert!(!Path::new(new).exists());
}

#[test]
fn configs_and_settings_are_printed() {
    let config = out(&succeeds(&["config", "phage"], ""));
    assert_eq!(config, fs::read_to_string("configs/phage.toml").unwrap());
    let list = out(&succeeds(&["config"], ""));
    assert!(list.contains("connect-four-64x5 ") && !list.contains("smoke"), "{list}");
    let keys = out(&succeeds(&["config", "--keys"], ""));
    assert!(keys.lines().all(|line| line.chars().count() <= 80), "{keys}");
    for setting in petteia::config::settings() {
        assert!(keys.contains(&format!("\n{} ", setting.key)), "{}", setting.key);
    }
    let (usual, experimental) = keys.split_once("\nExperimental: ").unwrap();
    assert!(usual.contains("\nnet.filters = ") && experimental.contains("\nsearch.cpuct_spread = "));
    fails(&["config", "fage"], 2, &["unknown config `fage`; did you mean"]);
    fails(&["config", "--keys", "xyzzy"], 2, &["no setting has `xyzzy`"]);
}

#[test]
fn pages_are_named_after_their_game() {
    let folder = tempfile::tempdir().unwrap();
    let quick = ["--games", "2", "--most-games", "2", "--solver", "0"];
    let levels = [&["balance", "cage-6", "--levels", "rollout:2", "rollout:4"], &quick[..]].concat();
    let measured = out(&elsewhere(folder.path(), &levels, ""));
    assert!(
        measured.starts_with("These games do not yet show whether the game is fair within 3 points; about "),
        "{measured}"
    );
    assert!(measured.lines().last().unwrap().starts_with("cage-6-balance.html ("), "{measured}");
    let reported = out(&elsewhere(folder.path(), &["report", text(&PLAIN.run())], ""));
    assert!(reported.starts_with("tic-tac-toe-report.html ("), "{reported}");
}

#[test]
fn an_agent_that_was_given_without_its_flag_gets_it() {
    fails(
        &["play", "phage", "rollout:100"],
        2,
        &["name the agent with --opponent: `petteia play phage --opponent rollout:100`"],
    );
    let resumed = petteia(&["resume"], "");
    assert!(err(&resumed).contains("`petteia train --run RUN` resumes a run"));
}

#[test]
fn names_are_completed() {
    let script = out(&succeeds(&["completions", "bash"], ""));
    for word in ["custodial-trap-intermediate", "connect-four-64x5", "shipped random perfect"] {
        assert!(script.contains(word), "no `{word}`");
    }
}

#[test]
fn games_show_their_agents() {
    let listed = succeeds(&["games", "--json"], "");
    let listed: serde_json::Value = serde_json::from_str(&out(&listed)).unwrap();
    for game in listed.as_array().unwrap() {
        // nobody has trained an agent for the texts yet
        if Games::ids().iter().all(|id| game["id"] != json!(id)) {
            assert!(game["agent"].is_null(), "{game}");
            continue;
        }
        let is_proved = ["tic-tac-toe", "cage-4"].map(|id| json!(id)).contains(&game["id"]);
        assert_eq!(game["agent"], json!(if is_proved { "perfect" } else { "shipped" }), "{game}");
    }
}

#[test]
#[cfg(feature = "web")]
fn the_page_offers_the_shipped_agent() {
    let server = Server::of(&["--folder", "nowhere"]);
    let home = server.get("/api/home");
    let keys = |game: &str| -> Vec<String> {
        let agents = home["agents"][game].as_array().unwrap();
        agents.iter().map(|agent| agent["key"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(keys("cage-6"), ["shipped", "rollout", "random"]);
    assert_eq!(keys("tic-tac-toe"), ["shipped", "rollout", "perfect", "random"]);
    let asked = json!({"game": "cage-6", "agent": "shipped", "simulations": 4});
    let found = server.post("/api/search", &asked);
    assert!(found["visits"][0]["prior"].as_f64().is_some(), "{found}");
}
