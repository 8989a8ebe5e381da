//! The tables of settings: a config accepts what they list for a key. In a config of another version, the known keys
//! are read.

use std::collections::BTreeSet;
use std::process::Output;

use petteia::checkpoint::Checkpoint;
use petteia::config::{
    Bootstrap, Config, Kind, NetConfig, Precision, RootKind, SearchConfig, Setting, TrainDevice, limits,
    settings,
};
use petteia::error::Result;

use crate::support::command::{err, out, succeeds};

const GOOD: &str = "game.id = 'tic-tac-toe'";

fn set(sets: &[&str]) -> Result<Config> {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    Config::parse("test", GOOD, &sets)
}

fn with(key: &str, value: &str) -> Result<Config> {
    let set_it = format!("{key}={value}");
    match key {
        // other settings that must be changed for a key to reach the ends of its range
        "selfplay.fast_simulations" => set(&["search.simulations=1000000", &set_it]),
        _ => set(&[&set_it]),
    }
}

/// The next number beyond an end of a range, in the coarsest type that a number has.
fn beyond(kind: Kind, end: &str, up: bool) -> String {
    let step = if up { 1 } else { -1 };
    match kind {
        Kind::Integer => (end.parse::<i64>().unwrap() + step).to_string(),
        _ if up => format!("{:?}", end.parse::<f32>().unwrap().next_up()),
        _ => format!("{:?}", end.parse::<f32>().unwrap().next_down()),
    }
}

/// The keys of the resolved settings.
fn written_keys(config: &Config) -> BTreeSet<String> {
    let table: toml::Table = config.to_toml().parse().unwrap();
    let mut keys = BTreeSet::new();
    for (section, value) in &table {
        match value.as_table() {
            Some(inside) => keys.extend(inside.keys().map(|name| format!("{section}.{name}"))),
            None => drop(keys.insert(section.clone())),
        }
    }
    keys
}

#[test]
fn every_setting_is_listed_and_documented_once() {
    let listed: Vec<Setting> = settings().collect();
    let keys: BTreeSet<String> = listed.iter().map(|setting| setting.key.to_string()).collect();
    assert_eq!(keys.len(), listed.len(), "a key is listed twice");
    let config = Config::new("tic-tac-toe");
    let mut written = written_keys(&config);
    assert!(written.remove("config_format"));
    assert_eq!(keys, written);
    for Setting { key, doc, kind, default, range, .. } in &listed {
        assert!(doc.len() > 10 && doc.ends_with('.') && !doc.contains('\n'), "{key}: {doc}");
        assert_eq!(default.is_none(), *key == "game.id", "{key}");
        let is_number = matches!(kind, Kind::Integer | Kind::Number);
        assert_eq!(range.is_some(), is_number && *key != "seed", "{key}");
    }
    // in the order of the file
    let file = config.to_toml();
    let names = listed.iter().map(|setting| setting.key.rsplit('.').next().unwrap());
    let mut rest = file.as_str();
    for name in names {
        let at = rest.find(&format!("\n{name} = ")).or_else(|| rest.find(&format!("{name} = ")));
        rest = &rest[at.unwrap_or_else(|| panic!("{name} is not in its place")) + 1..];
    }
}

#[test]
fn the_listed_defaults_are_those_of_a_config() {
    let defaults = Config::new("tic-tac-toe");
    assert_eq!(Config::parse("test", GOOD, &[]).unwrap(), defaults);
    assert_eq!(Config::parse("test", &defaults.to_toml(), &[]).unwrap(), defaults);
    defaults.check().unwrap();
    for setting in settings() {
        let Some(default) = setting.default else { continue };
        assert_eq!(
            with(setting.key, &default).unwrap().differences(&defaults).len(),
            beside(setting.key),
            "{}",
            setting.key
        );
    }
    assert_eq!(with("search.fpu_reduction", "0.2").unwrap(), defaults);
}

/// The number of other settings that [`with`] changes.
fn beside(key: &str) -> usize {
    usize::from(key == "selfplay.fast_simulations")
}

#[test]
fn ranges_and_choices_end_where_the_list_says() {
    for Setting { key, kind, range, even, .. } in settings() {
        if let Kind::Choice(names) = kind {
            for name in names {
                let config = with(key, name).unwrap();
                // a default may be left out
                let is_written = config.to_toml().contains(&format!("= \"{name}\""));
                assert!(is_written || config == Config::new("tic-tac-toe"), "{key} = {name}");
            }
            let error = with(key, "other").unwrap_err().to_string();
            assert!(names.iter().all(|name| error.contains(&format!("`{name}`"))), "{key}: {error}");
        }
        let Some([least, most]) = range else { continue };
        for (end, up) in [(&least, false), (&most, true)] {
            let config = with(key, end).unwrap_or_else(|error| panic!("{key} = {end}: {error}"));
            // it is read back unchanged from the settings in the run folder
            assert_eq!(Config::parse("test", &config.to_toml(), &[]).unwrap(), config, "{key} = {end}");
            let outside = beyond(kind, end, up);
            let error = with(key, &outside).expect_err(&format!("{key} = {outside}")).to_string();
            assert!(error.starts_with(&format!("{key}={outside}: ")), "{error}");
            if outside.starts_with('-') && kind == Kind::Integer {
                assert!(error.contains("invalid value"), "{error}");
                continue;
            }
            assert!(error.contains(&format!("is out of range: {least} to {most} is permitted")), "{error}");
        }
        if even {
            assert!(with(key, "7").unwrap_err().to_string().contains(&format!("{key} = 7 is odd")), "{key}");
        }
        if kind == Kind::Number {
            for number in ["nan", "-nan", "inf", "-inf", "1e400"] {
                assert!(with(key, number).is_err(), "{key} = {number}");
            }
        }
    }
}

#[test]
fn shared_limits_are_the_ends_of_ranges() {
    let most = |key: &str| {
        settings().find(|setting| setting.key == key).unwrap().range.unwrap()[1].parse::<usize>().unwrap()
    };
    for key in ["search.simulations", "selfplay.bootstrap_simulations", "arena.simulations"] {
        assert_eq!(limits::MAX_SIMULATIONS, most(key), "{key}");
    }
    assert_eq!(limits::MAX_CACHE, most("selfplay.cache"));
}

#[test]
fn a_config_is_made_and_checked_in_code() {
    let mut config = Config::new("phage");
    config.game.options.insert("start".into(), "blocks".into());
    config.search.root = RootKind::Gumbel;
    config.selfplay.bootstrap = Bootstrap::Uniform;
    config.check().unwrap();
    assert_eq!(Config::parse("made", &config.to_toml(), &[]).unwrap(), config);
    config.net = NetConfig::with(|net| net.filters = 0);
    let said = config.check().unwrap_err().to_string();
    assert_eq!(said, "net.filters = 0 is out of range: 1 to 512 is permitted");
    config.net.filters = 8;
    config.selfplay.fast_simulations = 64;
    assert!(config.check().unwrap_err().to_string().contains("is not below search.simulations = 32"));
}

#[test]
fn precisions_are_those_of_the_device() {
    let mut config = Config::new("tic-tac-toe");
    (config.train.device, config.train.precision) = (TrainDevice::Vulkan, Precision::Bf16);
    let said = config.check().unwrap_err().to_string();
    assert_eq!(said, "train.precision = \"bf16\" needs train.device = \"cpu\": \"vulkan\" trains in f32");
}

#[test]
fn a_format_has_its_own_defaults() {
    let first = Config::parse("test", "config_format = 1\ngame.id = 'tic-tac-toe'", &[]).unwrap();
    let newest = Config::parse("test", GOOD, &[]).unwrap();
    let changed: Vec<String> = first.differences(&newest).into_iter().map(|[key, ..]| key).collect();
    for key in ["search.leaf_nodes", "selfplay.surprise_weight", "train.average"] {
        assert!(changed.iter().any(|other| other == key), "{key}: {changed:?}");
    }
    assert_eq!((first.search.clone(), first.net.clone()), (SearchConfig::default(), NetConfig::default()));
    assert_eq!(newest.search, SearchConfig::recommended());
    assert_eq!((first.format(), newest.format()), (1, 3));
    assert_eq!((first.defaults(), newest.defaults()), (first.clone(), newest.clone()));
    // the settings in the run are in the first format, which had neither a format number nor settings that are off
    let kept = first.to_toml();
    assert!(!kept.contains("config_format") && !kept.contains("value_pooling"), "{kept}");
    assert_eq!(Config::parse_kept("test", &kept, &[]).unwrap(), first);
    assert_eq!(Config::read("test", &kept).unwrap().config, first);
    assert_ne!(Config::parse("test", &kept, &[]).unwrap(), first);
    // settings that override those of a run have the run's format
    let over = first.parse_over("test", GOOD, &["seed=3".into()]).unwrap();
    assert_eq!((over.format(), over.differences(&first).len()), (1, 1));
    let said = set(&["config_format=1"]).unwrap_err().to_string();
    assert!(said.contains("config_format=1: ") && said.contains("set it in the file"), "{said}");
}

#[test]
fn each_format_keeps_its_network() {
    for (format, size) in [(1, (32, 4)), (2, (32, 4)), (3, (16, 3))] {
        let text = format!("config_format = {format}\ngame.id = 'tic-tac-toe'");
        let config = Config::parse("test", &text, &[]).unwrap();
        assert_eq!((config.net.filters, config.net.blocks), size, "format {format}");
        // what a run keeps is read with the same defaults
        assert_eq!(Config::parse_kept("kept", &text, &[]).unwrap(), config);
    }
    assert_eq!(Config::new("tic-tac-toe").format(), 3);
}

#[test]
fn matches_are_played_after_every_few_generations_and_after_the_last() {
    let text = "game.id = 'tic-tac-toe'\n[arena]\nevery = 3\ngames = 2\nladder_games = 4\nfinal_games = 6\n[train]\n\
                generations = 7";
    let config = Config::parse("test", text, &[]).unwrap();
    assert_eq!(config.arena.every, 3);
    assert!(config.to_toml().contains("every = 3"));
    let first = Config::parse("test", "config_format = 1\ngame.id = 'tic-tac-toe'", &[]).unwrap();
    assert!(!first.to_toml().contains("every"), "runs of format 1 keep their bytes");
}

#[test]
fn a_newer_config_is_refused_by_its_format() {
    let newer = "config_format = 4\ngame.id = 'x'\n[arena]\nfuture_key = 1\n";
    let said = Config::parse("a.toml", newer, &[]).unwrap_err().to_string();
    for part in ["a.toml: line 1", "newer version of petteia", "reads format 3"] {
        assert!(said.contains(part), "{said}");
    }
    let read = Config::read("a.toml", newer).unwrap();
    assert_eq!(
        read.ignored.iter().map(|ignored| &*ignored.key).collect::<Vec<_>>(),
        ["arena.future_key", "config_format"]
    );
    assert!(Config::parse("test", "config_format = 0\ngame.id = 'x'", &[]).is_err());
}

#[test]
fn a_config_of_another_version_is_read_as_far_as_it_is_known() {
    let other = "seed = 3\nfuture = 1\n[game]\nid = 'x'\nstart = 'blocks'\n[net]\nfilters = 16\n[search]\ncpuct = \
        200\nroot = 'beam'\n\
                 [arena]\ngames = 7\nfinal_games = -2\n[later.section]\nkey = 1";
    let read = Config::read("test", other).unwrap();
    let config = &read.config;
    assert_eq!((config.seed, config.net.filters, config.search.cpuct), (3, 16, 100.0));
    assert_eq!((config.search.root, config.arena.games, config.arena.final_games), (RootKind::Puct, 20, 100));
    assert_eq!(config.game.options["start"].as_str(), Some("blocks"));
    config.check().unwrap();
    let ignored: Vec<String> = read.ignored.iter().map(|ignored| ignored.to_string()).collect();
    assert_eq!(
        ignored,
        [
            "search.root = \"beam\": not a value that this version knows: the default is used",
            "search.cpuct = 200: out of the range of this version: the nearest value in range is used",
            "arena.games = 7: not permitted by this version: the default is used",
            "arena.final_games = -2: not a value that this version knows: the default is used",
            "future = 1: unknown to this version",
            "later = { section = { key = 1 } }: unknown to this version",
        ]
    );
    // the known settings are read just as the strict reader reads them
    let known = Config::new("x").to_toml();
    assert_eq!(Config::read("test", &known).unwrap().config, Config::parse("test", &known, &[]).unwrap());
    for hopeless in ["", "[game]\nstart = 1", "game = 1", "oops", "seed = 1\nseed = 2"] {
        assert!(Config::read("test", hopeless).is_err(), "{hopeless}");
    }
}

#[test]
fn a_gate_that_was_off_is_passed_over() {
    let others = "gate_elo0 = 0.0\ngate_elo1 = 35.0\ngate_alpha = 0.05\ngate_beta = 0.05\ngate_games = 20\n";
    for format in 1..=3 {
        let known = format!("config_format = {format}\ngame.id = 'tic-tac-toe'\n[arena]\ngames = 8\n");
        let config = Config::parse("a.toml", &known, &[]).unwrap();
        let off = format!("{known}gate = 'none'\n{others}");
        for text in [&off, &format!("{known}{others}")] {
            assert_eq!(Config::parse("a.toml", text, &[]).unwrap(), config);
            assert_eq!(Config::parse_kept("a.toml", text, &[]).unwrap(), config);
            assert_eq!(config.parse_over("a.toml", text, &[]).unwrap(), config);
            let read = Config::read("a.toml", text).unwrap();
            assert!(read.config == config && read.ignored.is_empty(), "{:?}", read.ignored);
        }
        let written = config.to_toml();
        assert!(!written.contains("gate"), "{written}");
        let on = off.replace("none", "sprt");
        for parse in [Config::parse, Config::parse_kept] {
            let said = parse("a.toml", &on, &[]).unwrap_err().to_string();
            assert!(said.contains("line 5, column 1") && said.contains("there is no gate anymore"), "{said}");
        }
        let read = Config::read("a.toml", &on).unwrap();
        let ignored: Vec<String> = read.ignored.iter().map(|ignored| ignored.to_string()).collect();
        assert!(read.config == config && read.ignored[0].is_unknown());
        assert_eq!(ignored, ["arena.gate = \"sprt\": unknown to this version"]);
    }
    // another error is shown in its line
    let wrong = "game.id = 'x'\n[arena]\nagme = 1\ngate = 'none'";
    let said = Config::parse("a.toml", wrong, &[]).unwrap_err().to_string();
    assert!(said.contains("line 3") && said.contains("unknown field `agme`"), "{said}");
}

#[test]
fn a_run_of_the_games_id_alone_keeps_what_follows_from_the_game() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, run) = (path("alone.toml"), path("run"));
    std::fs::write(&file, "game.id = 'tic-tac-toe'").unwrap();
    let small = "selfplay.games=16 selfplay.batch=4 selfplay.bootstrap_games=16 selfplay.bootstrap_simulations=8 \
                 net.filters=4 net.blocks=1 train.batch=16 arena.games=2 arena.final_games=2 arena.ladder_games=2";
    let train = |run: &str, generations: &str| {
        let sets = small.split_whitespace().flat_map(|set| ["--set", set]);
        let arguments = ["train", &file, "--run", run, "--generations", generations, "--threads", "1"];
        let ended = succeeds(&arguments.into_iter().chain(sets).collect::<Vec<_>>(), "");
        let said = format!("{}{}", out(&ended), err(&ended));
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = train(&run, "2");
    assert!(
        said.contains(
            "games have 8 plies with 5 legal actions on average, and 43 % of positions can be proved \
        with a few nodes, so "
        ),
        "{said}"
    );
    assert!(said.contains("replay.value_decay = 0.1") && !said.contains("selfplay.games = "), "{said}");
    // the run stores all of its settings, and a setting that was named takes precedence
    let kept = petteia::run::settings_of(run.as_ref()).unwrap();
    assert_eq!((kept.format(), kept.replay.value_decay, kept.selfplay.games), (3, 0.1, 16));
    assert_eq!(written_keys(&kept), written_keys(&Config::new("tic-tac-toe")));
    let checkpoint = Checkpoint::find(run.as_ref()).unwrap();
    assert_eq!(checkpoint.reading().unwrap().config, kept);
    // the same command continues with these settings, and so does a command that names only the folder
    train(&run, "3");
    succeeds(&["train", "--run", &run, "--generations", "4"], "");
    let longer = petteia::run::settings_of(run.as_ref()).unwrap();
    assert_eq!(longer.differences(&kept), [["train.generations".to_string(), "4".into(), "2".into()]]);
    // in format 1, no setting is derived from the game
    std::fs::write(&file, "config_format = 1\ngame.id = 'tic-tac-toe'").unwrap();
    let first = path("first");
    train(&first, "1");
    let kept = petteia::run::settings_of(first.as_ref()).unwrap();
    assert_eq!((kept.format(), kept.replay.value_decay, kept.selfplay.random_plies), (1, 0.0, 0));
}

#[test]
fn a_run_that_names_no_size_has_that_of_the_weights_it_begins_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, source) = (path("alone.toml"), path("source"));
    std::fs::write(&file, "game.id = 'tic-tac-toe'").unwrap();
    let few = ["--set", "selfplay.games=16", "--set", "selfplay.batch=4", "--set", "arena.final_games=2"];
    let few = [&few[..], &["--generations", "1", "--threads", "1"]].concat();
    let size = ["--set", "net.filters=4", "--set", "net.blocks=1", "--set", "selfplay.bootstrap_games=16"];
    succeeds(&[&["train", &file, "--run", &source], &few[..], &size[..]].concat(), "");
    let begun = path("begun");
    let begin = [&["train", &file, "--run", &begun, "--from", &source], &few[..]].concat();
    let words = |ended: &Output| {
        let said = format!("{} {}", out(ended), err(ended));
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = words(&succeeds(&begin, ""));
    assert!(said.contains("the weights are of a network with net.blocks = 1, net.filters = 4"), "{said}");
    let net = petteia::run::settings_of(begun.as_ref()).unwrap().net;
    assert_eq!((net.filters, net.blocks), (4, 1));
    // the length of a run, not its game, determines the size of a network that begins anew
    let other = path("long");
    let long = ["train", &file, "--generations", "21", "--run", &other, "--dry-run"];
    let said = words(&succeeds(&long, ""));
    let why = "the run has more than 20 generations, so net.blocks = 4, net.filters = 32";
    assert!(said.contains(why), "{said}");
}
