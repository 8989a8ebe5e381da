//! Corruption at regular intervals throughout every file of a run, and files in the place of others.
//!
//! Damage is either named, by `train`, `inspect` and `records verify` alike, and nothing is trained; or it is
//! harmless, and the resumed run ends with the same bytes as an undisturbed one. There is never a panic, and the
//! weights never change without a message.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::scene::{
    Ended, Folder, Petteia, RUN, Run, TINY, Tally, contents, copy, expect_same, random, reset, sample,
};
use crate::support::runs::paths;

/// A run with the same settings except for the seed.
static OTHER: LazyLock<Run> = LazyLock::new(|| Run::new(&TINY.replace("game.id", "seed = 77\ngame.id")));

/// Runs with a history: extended after this many generations, forked, and begun with the weights and the window of
/// another run.
static EXTENDED: [LazyLock<Run>; 2] = [LazyLock::new(|| extended(1)), LazyLock::new(|| extended(2))];
static FORKED: LazyLock<Run> = LazyLock::new(|| {
    let run = RUN.path.display().to_string();
    descended(&["--fork", &run, "--at", "1", "--set", "search.simulations=5"])
});
static STARTED: LazyLock<Run> = LazyLock::new(|| {
    let run = RUN.path.display().to_string();
    descended(&["--from", &run, "--with-window", "--set", "search.simulations=5"])
});

fn extended(generations: usize) -> Run {
    let short = Run::new(&TINY.replace("generations = 3", &format!("generations = {generations}")));
    Run::begun(TINY, |path| {
        copy(&short.path, path);
        let path = path.display().to_string();
        Petteia::new(&["train", "--run", &path, "--generations", "3", "--threads", "1"]).run().succeeds();
    })
}

/// A run with other settings, made from [`RUN`] by these arguments of `train`.
fn descended(arguments: &[&str]) -> Run {
    let mut config = TINY.replace("search.simulations = 4", "search.simulations = 5");
    if arguments[0] == "--from" {
        config = config.replace("bootstrap_games = 4", "bootstrap_games = 0");
    }
    Run::begun(&config, |path| {
        let path = path.display().to_string();
        Petteia::new(&[&["train", "--run", &path, "--threads", "1"], arguments].concat()).run().succeeds();
    })
}

/// A run before its last generation, and the files that it must end with.
struct Scene {
    run: &'static Run,
    _kept: Folder,
    base: PathBuf,
    path: PathBuf,
    expected: BTreeMap<PathBuf, Vec<u8>>,
}

impl Scene {
    /// The last generation is about to begin or, if `begun`, one of its shards has already been played.
    fn new(run: &'static Run, begun: bool) -> Scene {
        let folder = Folder::new();
        let (base, path) = (folder.path.join("base"), folder.path.join("run"));
        copy(&run.path, &base);
        fs::remove_dir_all(base.join("checkpoints/generation-0003")).unwrap();
        let last = base.join("selfplay/generation-0003");
        if begun {
            fs::remove_file(last.join("shard-0001.jsonl.zst")).unwrap();
            fs::remove_file(last.join("shard-0001.jsonl.zst.sha256")).unwrap();
        } else {
            fs::remove_dir_all(last).unwrap()
        }
        Scene { run, _kept: folder, base, path, expected: contents(&run.path) }
    }

    fn said(&self, words: [&str; 2]) -> Ended {
        let run = self.path.display().to_string();
        let arguments = match words {
            [command, ""] => vec![command, &run],
            [command, more] => vec![command, &run, more],
        };
        Petteia::new(&arguments).run()
    }

    /// Damages the files `changed` in a copy, and lets every command read it.
    fn holds(&self, what: &str, changed: &[&Path], damage: impl FnOnce(&Path)) {
        reset(Some(&self.base), &self.path);
        damage(&self.path);
        let inspected = self.said(["inspect", ""]);
        inspected.in_words(what);
        let verified = self.said(["records", "verify"]);
        verified.in_words(what);
        let before = contents_as_they_are(&self.path);
        let trained = self.run.train(&self.path);
        trained.in_words(what);
        if trained.code == Some(0) {
            self.ends_as_if_nothing_had_been(what, changed, &trained);
            return;
        }
        // a setting that this version does not know may belong to another version: it is read, and named
        let is_named = inspected.code == Some(0) && inspected.out.contains("settings of another version");
        assert!(inspected.code == Some(1) || is_named, "{what}: train says {trained:?}, but {inspected:?}");
        let names = |path: &&Path| trained.err.contains(path.file_name().unwrap().to_str().unwrap());
        let folder = |path: &&Path| match path.parent().unwrap().to_str().unwrap() {
            "" => false,
            folder => trained.err.contains(folder),
        };
        // intact settings that differ concern the run, and not a file
        let settings = |path: &&Path| {
            path.ends_with("config.toml") && trained.err.contains("different settings (there / requested)")
        };
        let is_named = changed.iter().any(|path| names(path) || folder(path) || settings(path));
        assert!(is_named, "{what}: not named: {trained:?}");
        // weights of earlier generations are read after training, for the last games
        if let Some(path) = changed.iter().find(|path| path.ends_with("generation-0001/weights.safetensors"))
        {
            return self.ends_without_its_checkpoint(what, path, &trained);
        }
        // nothing was trained, and nothing is lost
        let after = contents_as_they_are(&self.path);
        let bytes = |all: &BTreeMap<PathBuf, Vec<u8>>| -> BTreeMap<PathBuf, Vec<u8>> {
            // a damaged shard is set aside, with all its bytes
            let plain = |path: &PathBuf| match path.extension() {
                Some(bad) if bad == "bad" => path.with_extension(""),
                _ => path.clone(),
            };
            all.iter().map(|(path, bytes)| (plain(path), bytes.clone())).collect()
        };
        assert!(bytes(&after) == bytes(&before), "{what}: something was changed by {trained:?}");
        // and the error is repeated whenever the run is resumed
        let again = self.run.train(&self.path);
        assert_eq!(again.code, trained.code, "{what}: {again:?} after {trained:?}");
        if changed.iter().any(|path| path.starts_with("selfplay")) {
            assert_eq!(verified.code, Some(1), "{what}: {verified:?}");
            self.accepts_the_loss(what);
        }
    }

    /// The user may decide to continue without the missing files.
    fn accepts_the_loss(&self, what: &str) {
        let mut program = self.run.training(&self.path);
        program.arguments.push("--accept-missing".into());
        let accepted = program.run();
        assert_eq!(accepted.code, Some(0), "{what}: {accepted:?}");
        // that decision is kept
        let again = self.run.train(&self.path);
        assert_eq!(again.code, Some(0), "{what}: {again:?}");
    }

    /// The run ends without the checkpoint that has this file, as the error says.
    fn ends_without_its_checkpoint(&self, what: &str, file: &Path, trained: &Ended) {
        assert!(trained.err.contains("remove the checkpoint to resume without it"), "{what}: {trained:?}");
        fs::remove_dir_all(self.path.join(file.parent().unwrap())).unwrap();
        let without = self.run.train(&self.path);
        assert_eq!(without.code, Some(0), "{what}: {without:?}");
    }

    fn ends_as_if_nothing_had_been(&self, what: &str, changed: &[&Path], trained: &Ended) {
        let mut found = contents_as_they_are(&self.path);
        let mut expected = self.expected.clone();
        let set_aside = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "bad");
        let bad: Vec<_> = found.keys().filter(|path| set_aside(path)).cloned().collect();
        for path in bad {
            found.remove(&path);
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(trained.err.contains(name), "{what}: set aside without a word: {trained:?}");
        }
        // the damaged bytes themselves may stay if they are harmless
        for path in changed {
            found.remove(*path);
            expected.remove(*path);
        }
        for all in [&mut found, &mut expected] {
            all.retain(|path, _| !path.ends_with("metrics.jsonl"));
        }
        expect_same(what, &found, &expected);
    }

    /// Applies flips, truncations, additions and the loss of one file.
    fn every_damage(&self, name: &Path, few: usize, tally: &mut Tally) {
        let bytes = fs::read(self.base.join(name)).unwrap();
        let mut chance = random(500 + bytes.len() as u64);
        let place = name.display();
        for at in sample(bytes.len(), few, &mut chance) {
            let mut flipped = bytes.clone();
            flipped[at - 1] ^= 1 << (at % 8);
            self.replaced(tally, &format!("{place}: byte {at} flipped"), name, Some(&flipped));
        }
        for at in sample(bytes.len(), few / 2, &mut chance) {
            self.replaced(tally, &format!("{place}: cut at {}", at - 1), name, Some(&bytes[..at - 1]));
        }
        for (what, more) in
            [("a zero", &b"\0"[..]), ("a line end", b"\n"), ("itself", &bytes), ("text", b"{}\nx")]
        {
            self.replaced(tally, &format!("{place}: {what} appended"), name, Some(&[&bytes, more].concat()));
        }
        self.replaced(tally, &format!("{place}: lost"), name, None);
    }

    fn replaced(&self, tally: &mut Tally, what: &str, name: &Path, bytes: Option<&[u8]>) {
        tally.check(|| {
            self.holds(what, &[name], |run| match bytes {
                Some(bytes) => fs::write(run.join(name), bytes).unwrap(),
                None => fs::remove_file(run.join(name)).unwrap(),
            })
        });
    }
}

/// Reads all files with their bytes; metrics may be damaged, too.
fn contents_as_they_are(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let metrics = folder.join("metrics.jsonl");
    let kept = fs::read(&metrics);
    let _ = fs::remove_file(&metrics);
    let found = contents(folder);
    if let Ok(bytes) = kept {
        fs::write(metrics, bytes).unwrap();
    }
    found
}

#[test]
fn every_kind_of_file_damaged_at_steps() {
    let scene = Scene::new(&RUN, true);
    let mut tally = Tally::default();
    // of files that occur many times, take one of the newest or, in a deep test, all
    let newest = ["generation-0002/shard-0000", "generation-0003/", "checkpoints/generation-0002"];
    for name in paths(&scene.base) {
        let text = name.to_string_lossy();
        let one_of_many = text.contains("generation-") && !newest.iter().any(|part| text.contains(part));
        if text != "lock" && (super::scene::deep() || !one_of_many) {
            scene.every_damage(&name, 5, &mut tally);
        }
    }
    tally.report("damaged files");
}

/// No checkpoint repeats the fact that a run was just extended: without its lineage file, its checkpoints do not
/// belong to the longer run.
#[test]
fn a_lineage_damaged_at_steps() {
    let mut tally = Tally::default();
    let name = Path::new("lineage.json");
    let runs = [&*EXTENDED[0], &*EXTENDED[1], &*FORKED, &*STARTED];
    for run in runs {
        let scene = Scene::new(run, false);
        scene.every_damage(name, 12, &mut tally);
        for other in runs.iter().filter(|other| other.path != run.path) {
            let bytes = fs::read(other.path.join(name)).unwrap();
            scene.replaced(&mut tally, "the lineage of another run", name, Some(&bytes));
        }
    }
    tally.report("damaged lineages");
}

fn shard(generation: usize, number: usize) -> PathBuf {
    PathBuf::from(format!("selfplay/generation-{generation:04}/shard-{number:04}.jsonl.zst"))
}

/// Intact shards of ours in the places of others.
#[test]
fn shards_in_the_place_of_others() {
    let mut tally = Tally::default();
    let (scene, other) = (Scene::new(&RUN, true), &OTHER.path);
    let pairs = [((1, 0), (1, 1)), ((1, 0), (2, 0)), ((2, 0), (2, 1)), ((2, 1), (3, 0)), ((1, 1), (3, 0))];
    for ((g, n), (h, m)) in pairs {
        let (one, two) = (&*shard(g, n), &*shard(h, m));
        let what = format!("{} and {}", one.display(), two.display());
        let exchanged = format!("{what} exchanged");
        tally.check(|| scene.holds(&exchanged, &[one, two], |run| exchange(run, one, two)));
        let copied = format!("{what}: one is the other");
        tally.check(|| scene.holds(&copied, &[two], |run| replace(run, one, run, two)));
    }
    for (generation, number) in [(1, 0), (2, 1), (3, 0)] {
        let name = &*shard(generation, number);
        let mut tried = |what: &str, damage: &dyn Fn(&Path)| {
            tally.check(|| scene.holds(&format!("{}: {what}", name.display()), &[name], damage));
        };
        tried("of another seed", &|run| replace(other, name, run, name));
        tried("lost with its sum", &|run| {
            fs::remove_file(run.join(name)).unwrap();
            fs::remove_file(run.join(name).with_extension("zst.sha256")).unwrap();
        });
        tried("only its first game", &|run| rewrite(&run.join(name), |games| games[..1].to_vec()));
        tried("without games", &|run| rewrite(&run.join(name), |_| Vec::new()));
        tried("one game twice", &|run| rewrite(&run.join(name), |games| vec![games[0].clone(); games.len()]));
    }
    tally.report("shards in the place of others");
}

/// Missing folders, and intact checkpoints of ours in the places of others.
#[test]
fn folders_in_the_place_of_others() {
    let mut tally = Tally::default();
    let (scene, other) = (Scene::new(&RUN, true), &OTHER.path);
    for folder in ["selfplay", "selfplay/generation-0001", "selfplay/generation-0002"] {
        let shards = [&*shard(2, 0), &*shard(1, 0)];
        let lose = |run: &Path| fs::remove_dir_all(run.join(folder)).unwrap();
        tally.check(|| scene.holds(&format!("{folder} lost"), &shards, lose));
    }
    let newest = "checkpoints/generation-0002";
    let manifest = Path::new(newest).join("manifest.json");
    for (what, from) in [
        ("another seed's checkpoint", other.join(newest)),
        ("the checkpoint of generation 1 as 2", RUN.path.join("checkpoints/generation-0001")),
        ("the checkpoint of generation 3 as 2", RUN.path.join("checkpoints/generation-0003")),
    ] {
        tally.check(|| scene.holds(what, &[&manifest], |run| reset(Some(&from), &run.join(newest))));
    }
    for empty in ["checkpoints/generation-9999", "checkpoints/generation-0003"] {
        let place = Path::new(empty).join("manifest.json");
        let make = |run: &Path| fs::create_dir(run.join(empty)).unwrap();
        tally.check(|| scene.holds(&format!("an empty {empty}"), &[&place], make));
    }
    tally.report("folders in the place of others");
}

/// Copies a shard together with its checksum.
fn replace(from: &Path, name: &Path, to: &Path, place: &Path) {
    let sum = fs::read_to_string(from.join(name).with_extension("zst.sha256")).unwrap();
    let sum = sum
        .replace(name.file_name().unwrap().to_str().unwrap(), place.file_name().unwrap().to_str().unwrap());
    fs::copy(from.join(name), to.join(place)).unwrap();
    fs::write(to.join(place).with_extension("zst.sha256"), sum).unwrap();
}

fn exchange(run: &Path, one: &Path, two: &Path) {
    let kept = Folder::new();
    let shard = Path::new("shard-0000.jsonl.zst");
    replace(run, one, &kept.path, shard);
    replace(run, two, run, one);
    replace(&kept.path, shard, run, two);
}

/// Writes other games into a shard, and updates its checksum.
fn rewrite(shard: &Path, change: impl FnOnce(Vec<String>) -> Vec<String>) {
    let text = String::from_utf8(zstd::decode_all(fs::read(shard).unwrap().as_slice()).unwrap()).unwrap();
    let games = change(text.lines().map(|line| format!("{line}\n")).collect());
    let packed = zstd::encode_all(games.concat().as_bytes(), 3).unwrap();
    fs::write(shard, &packed).unwrap();
    let name = shard.file_name().unwrap().to_str().unwrap();
    fs::write(shard.with_extension("zst.sha256"), format!("{}  {name}\n", petteia::storage::sha256(&packed)))
        .unwrap();
}

/// A match file with a changed line is refused, naming the line, or has the same content as before.
#[test]
fn a_match_file_damaged_at_steps() {
    let folder = Folder::new();
    let file = folder.at("match.jsonl");
    let arena = ["arena", "tic-tac-toe", "uniform:4", "random", "--games", "12", "--threads", "1", "--json"];
    let play = || Petteia::new(&[&arena[..], &["--save", &file]].concat()).run();
    let expected = play();
    let bytes = fs::read(&file).unwrap();
    let (mut tally, mut chance) = (Tally::default(), random(520));
    let mut damages: Vec<(String, Vec<u8>)> = Vec::new();
    for at in sample(bytes.len(), 60, &mut chance) {
        let mut flipped = bytes.clone();
        flipped[at - 1] ^= 1 << (at % 8);
        damages.push((format!("byte {at} flipped"), flipped));
        damages.push((format!("cut at {}", at - 1), bytes[..at - 1].to_vec()));
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (one, other) in [(0, 1), (1, 2), (1, lines.len() - 1)] {
        let mut swapped = lines.clone();
        swapped.swap(one, other);
        damages.push((format!("lines {one} and {other} exchanged"), swapped.concat()));
        damages.push((format!("line {one} twice"), [lines[..=one].concat(), lines[one..].concat()].concat()));
    }
    for (what, damaged) in damages {
        tally.check(|| {
            fs::write(&file, &damaged).unwrap();
            let ended = play();
            ended.in_words(&what);
            if ended.code == Some(0) {
                assert_eq!(ended.out, expected.out, "match file: {what}: another result without a word");
            } else {
                assert!(ended.err.contains("match.jsonl"), "match file: {what}: {ended:?}");
                assert!(fs::read(&file).unwrap() == damaged, "match file: {what}: it was changed");
            }
        });
    }
    tally.report("match files");
}

/// A damaged export is recognized as damaged, or works as before.
#[test]
fn exports_damaged_at_steps() {
    let folder = Folder::new();
    let run = RUN.path.display().to_string();
    let mut tally = Tally::default();
    let formats = [("safetensors", "x.safetensors", true), ("bot", "bot", false)];
    for (format, name, whole) in formats {
        let file = folder.at(name);
        Petteia::new(&["export", &run, "--format", format, "--out", &file]).run().succeeds();
        let bytes = fs::read(&file).unwrap();
        let analyze = || {
            let agent = format!("{file}:4");
            Petteia::new(&["analyze", "tic-tac-toe", "--agent", &agent]).hearing("X.X/.O./... O\n").run()
        };
        let expected = analyze();
        // in a bot, only the payload at its end is covered by the checksum
        let payload = fs::metadata(folder.at("x.safetensors")).unwrap().len() as usize + 56;
        let begin = if whole { 0 } else { bytes.len() - payload };
        let mut chance = random(530 + begin as u64);
        for at in sample(bytes.len() - begin, if whole { 60 } else { 12 }, &mut chance) {
            let mut flipped = bytes.clone();
            flipped[begin + at - 1] ^= 1 << (at % 8);
            for (what, damaged) in [("flipped", &flipped[..]), ("cut", &bytes[..begin + at - 1])] {
                let what = format!("{format}: {what} at {at}");
                tally.check(|| {
                    fs::write(&file, damaged).unwrap();
                    let ended = analyze();
                    ended.in_words(&what);
                    assert!(ended.code != Some(0) || ended.out == expected.out, "{what}: {ended:?}");
                    let inspected = Petteia::new(&["inspect", &file]).run();
                    inspected.in_words(&what);
                    assert!(
                        inspected.code != Some(0) || ended.code == Some(0),
                        "{what}: {inspected:?}, {ended:?}"
                    );
                });
            }
            if !whole {
                tally.check(|| {
                    let bot = folder.at("damaged");
                    fs::write(&bot, &flipped).unwrap();
                    fs::set_permissions(&bot, fs::metadata(folder.at("bot")).unwrap().permissions()).unwrap();
                    let ended = Petteia::of(&bot, &[]).hearing("ugi\ngo nodes 4\n").run();
                    ended.names(&format!("bot: byte {at}"), "checksum");
                });
            }
        }
    }
    tally.report("exports");
}
