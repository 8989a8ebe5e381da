//! Devices that compute a network: one that answers late or fails, behind the trait for forward passes; and a machine
//! without a GPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use petteia::arena::contestant::Contestant;
use petteia::arena::{Match, MatchResult, play_match};
use petteia::config::{Config, DeviceKind, SearchConfig};
use petteia::encode::Shape;
use petteia::error::{Error, Result};
use petteia::game::{GameOptions, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::net::device::Processor;
use petteia::net::evaluator::SharedNet;
use petteia::net::forward::{Batch, Forward, Pass};
use petteia::replay::place::Origin;
use petteia::replay::store::shard_path;
use petteia::search::evaluator::Rollout;
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Bulk, Generation, play_generation};

use crate::support::command::{err, petteia, succeeds};

/// A device that computes sums of the planes, and wants batches.
struct Fake {
    batch: usize,
    late: Duration,
    /// The number of the batch at which the device fails.
    fails_at: usize,
    batches: AtomicUsize,
    largest: AtomicUsize,
    /// The number of passes that were made.
    passes: AtomicUsize,
}

impl Fake {
    fn new(batch: usize, late: u64) -> Fake {
        let [batches, largest, passes] = [(); 3].map(|()| AtomicUsize::new(0));
        Fake { batch, late: Duration::from_millis(late), fails_at: usize::MAX, batches, largest, passes }
    }
}

impl Forward for Fake {
    fn shape(&self) -> Shape {
        Rules::<ConnectFour>::new(&GameOptions::default()).unwrap().identity.shape
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        self.passes.fetch_add(1, Ordering::SeqCst);
        Box::new(FakePass(self))
    }
}

struct FakePass(Arc<Fake>);

impl Pass for FakePass {
    fn run(&mut self, batch: Batch) -> Result<()> {
        let rows = batch.wanted.ends.len();
        if self.0.batches.fetch_add(1, Ordering::SeqCst) == self.0.fails_at {
            return Err(Error::Data("the device fell off the bus".into()));
        }
        self.0.largest.fetch_max(rows, Ordering::SeqCst);
        std::thread::sleep(self.0.late);
        let (mut begin, shape) = (0, self.0.shape());
        let mut numbers = vec![0.0; rows * shape.input_len()];
        shape.expand(batch.planes, &mut numbers);
        for (row, planes) in numbers.chunks_exact(shape.input_len()).enumerate() {
            let sum: f32 = planes.iter().enumerate().map(|(at, x)| x * (at * 7 % 13) as f32).sum();
            let end = batch.wanted.ends[row];
            for (logit, action) in batch.logits[begin..end].iter_mut().zip(&batch.wanted.actions[begin..end])
            {
                *logit = (sum * (f32::from(*action) + 1.0)).sin();
            }
            let value = sum.cos() / 2.0;
            batch.wdl[3 * row..3 * row + 3].copy_from_slice(&[value, 0.0, -value]);
            begin = end;
        }
        Ok(())
    }
}

/// The shards of 10 games in files of 2 games each, and how the device was used.
fn played(fake: &Arc<Fake>) -> Result<(Vec<Vec<u8>>, Bulk)> {
    let Rules { game, identity, .. } = Rules::<ConnectFour>::new(&GameOptions::default()).unwrap();
    let text = "game.id = 'connect-four'\nselfplay = { batch = 2, games = 10 }";
    let config = Config::parse_kept("test", text, &[]).unwrap();
    let generation = Generation {
        config: &config,
        identity: &identity,
        number: 1,
        games: 10,
        simulations: 8,
        evaluator: "test".into(),
        starts: Starts::default(),
    };
    let folder = tempfile::tempdir().unwrap();
    let net = SharedNet::from_forward(fake.clone());
    let bulk = std::sync::Mutex::new(Bulk::default());
    play_generation(
        &game,
        &generation,
        folder.path(),
        &Origin::of(&config),
        &|| Box::new(net.evaluator(&game)),
        &|progress| {
            *bulk.lock().unwrap() = progress.bulk;
            true
        },
    )?;
    let shard = |number| std::fs::read(shard_path(folder.path(), 1, number)).unwrap();
    Ok(((0..5).map(shard).collect(), bulk.into_inner().unwrap()))
}

#[test]
fn a_device_that_answers_late_plays_the_same_games() {
    let (at_once, bulk) = played(&Arc::new(Fake::new(1, 0))).unwrap();
    assert_eq!(bulk, Bulk::default(), "each core has its own batches");
    // batches of all sizes, from less than a file to more than all games
    for (wanted, largest) in [(2, 2), (3, 3), (5, 5), (64, 5)] {
        let fake = Arc::new(Fake::new(wanted, 1));
        let (late, bulk) = played(&fake).unwrap();
        assert!(late == at_once, "different bytes with batches of {wanted}");
        // there is one evaluator, and half of the games fill a batch if there are enough games
        assert_eq!(fake.passes.load(Ordering::SeqCst), 1);
        assert_eq!(fake.largest.load(Ordering::SeqCst), largest);
        assert_eq!((bulk.wanted, bulk.batches), (wanted, fake.batches.load(Ordering::SeqCst)));
        let fill = bulk.fill().unwrap();
        assert_eq!(fill < 0.5, wanted == 64, "batches of {wanted} were {fill} full");
        assert!(
            bulk.busy >= Duration::from_millis(bulk.batches as u64) && bulk.elapsed >= bulk.busy,
            "{bulk:?}"
        );
    }
}

/// A match of the device with 20 simulations against random playouts.
fn matched(fake: &Arc<Fake>) -> Result<MatchResult> {
    let (game, search) = (ConnectFour, SearchConfig::default());
    let device = Contestant::trained(&game, &search, SharedNet::from_forward(fake.clone()), 20);
    let playouts = Contestant::searching(&game, "playouts", &search, 20, || Rollout::new(ConnectFour));
    let plan = Match { games: 24, seed: 3, opening_plies: 2, book: None, sprt: None };
    play_match(&game, &plan, [&device, &playouts], None, |_| true)
}

#[test]
fn a_match_fills_the_batches_of_a_device() {
    let expected = matched(&Arc::new(Fake::new(1, 0))).unwrap();
    assert!(expected.wins > 0 && expected.losses > 0, "{expected:?}");
    // there are two pairs of halves if the games fill four batches, and threads may wait for two of these batches
    for (threads, wanted, least, passes) in
        [(2, 2, 1, 1), (2, 8, 4, 1), (2, 64, 7, 1), (4, 8, 4, 1), (4, 6, 3, 2), (4, 2, 1, 2)]
    {
        let fake = Arc::new(Fake::new(wanted, 1));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| matched(&fake)).unwrap(), expected, "batches of {wanted}");
        assert_eq!(fake.passes.load(Ordering::SeqCst), passes, "evaluators for batches of {wanted}");
        let largest = fake.largest.load(Ordering::SeqCst);
        assert!((least..=12 * 4).contains(&largest), "batches of {wanted} had up to {largest} positions");
        for fails_at in [0, 5, 50] {
            let failing = Arc::new(Fake { fails_at, ..Fake::new(wanted, 1) });
            let error = pool.install(|| matched(&failing)).unwrap_err();
            assert_eq!(error.to_string(), "the device fell off the bus");
        }
    }
}

#[test]
fn what_a_device_says_ends_the_games() {
    let fake = Arc::new(Fake { fails_at: 9, ..Fake::new(5, 1) });
    assert_eq!(played(&fake).unwrap_err().to_string(), "the device fell off the bus");
}

/// Whether this machine has a GPU. If it does, tests for machines without a GPU do nothing.
fn has_gpu() -> bool {
    Processor::of(DeviceKind::Cuda).is_ok()
}

#[test]
fn without_a_gpu_a_named_one_is_an_error_and_auto_is_the_cpu() {
    if has_gpu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let train = |device: &str| {
        let run = run.to_str().unwrap();
        petteia(&["train", "configs/smoke.toml", "--run", run, "--device", device], "")
    };
    let named = train("cuda");
    assert_eq!(named.status.code(), Some(2), "{}", err(&named));
    assert!(err(&named).contains("the device \"cuda\" cannot be used here: "), "{}", err(&named));
    assert!(!run.exists(), "nothing was written");
    let arena = ["arena", "tic-tac-toe", "random", "random", "--games", "2", "--device", "cuda"];
    assert_eq!(petteia(&arena, "").status.code(), Some(2));
    let auto = train("auto");
    assert!(auto.status.success() && err(&auto).contains("the CPU computes the network: "), "{}", err(&auto));
    let settings = std::fs::read_to_string(run.join("config.toml")).unwrap();
    assert!(!settings.contains("device"), "the CPU is the default, which is not written: {settings}");
    #[cfg(not(feature = "vulkan"))]
    for vulkan in [&["--device", "vulkan"], &["--set", "train.device=vulkan"]] {
        let other = folder.path().join("other");
        let begin = ["train", "configs/smoke.toml", "--run", other.to_str().unwrap()];
        let refused = petteia(&[&begin[..], vulkan].concat(), "");
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        assert!(err(&refused).contains("this program was built without Vulkan"), "{}", err(&refused));
        assert!(!other.exists(), "nothing was written");
    }
    // the run keeps the device that it found, and `auto` now means that device
    let again = train("auto");
    assert!(again.status.success() && !err(&again).contains("the CPU computes"), "{}", err(&again));
    succeeds(&["arena", "tic-tac-toe", "random", "random", "--games", "2", "--device", "auto"], "");
}
