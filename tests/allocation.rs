//! The hot loops allocate nothing except for the growth of a tree's arrays. A counter in front of the system's
//! allocator counts separately for each thread, since tests run in parallel.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use petteia::config::{Config, SearchConfig};
use petteia::encode::Planes;
use petteia::error::Result;
use petteia::game::{Game, GameOptions, Rules};
use petteia::games::Games;
use petteia::games::connect_four::ConnectFour;
use petteia::options::TEXT;
use petteia::random::{Purpose, Random, choose, stream};
use petteia::registry::Catalog;
use petteia::search::Search;
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Uniform};
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_shard};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Bytes allocated and not freed; below zero if a thread frees what another thread allocated.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// SAFETY: everything is passed on to the system's allocator; the only additions are counters without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD.set(HELD.get() + layout.size() as isize);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD.set(HELD.get() + size as isize - layout.size() as isize);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

fn rules() -> Rules<ConnectFour> {
    Rules::new(&GameOptions::default()).unwrap()
}

/// Plays a game with `search`, which keeps its memory for the next game. Returns the number of allocations that the
/// searches make, including those for moving to the next position.
fn play(game: &ConnectFour, search: &mut Search<ConnectFour>, random: &mut Random) -> usize {
    let mut count = 0;
    search.restart(game.initial());
    while game.outcome(search.tree().root()).is_none() {
        let action = choose(random, &game.legal(search.tree().root()));
        count += allocations(|| {
            search.run(&mut Uniform, 400, random).unwrap();
            search.advance(action);
        });
    }
    count
}

#[test]
fn a_search_whose_memory_has_grown_allocates_nothing() {
    let game = rules().game;
    for reuse_tree in [false, true] {
        let config = SearchConfig::with(|search| search.reuse_tree = reuse_tree);
        let mut search = Search::new(game.clone(), config, game.initial());
        let random = || stream(1, Purpose::Opening, &[]);
        assert!(play(&game, &mut search, &mut random()) > 0, "the counter counts");
        assert_eq!(play(&game, &mut search, &mut random()), 0);
    }
}

/// Counts the allocations between its calls, in turns in which no episode acted.
#[derive(Default)]
struct Watching {
    last: Option<usize>,
    turns: usize,
    loud: usize,
}

impl Evaluator<ConnectFour> for Watching {
    fn evaluate(&mut self, requests: &[Request<ConnectFour>], out: &mut Evaluations) -> Result<()> {
        self.turns += 1;
        self.loud += self.last.is_some_and(|last| last != ALLOCATIONS.get()) as usize;
        let answered = Uniform.evaluate(requests, out);
        self.last = Some(ALLOCATIONS.get());
        answered
    }
}

#[test]
fn self_play_allocates_only_when_it_acts_or_a_tree_grows() {
    let rules = rules();
    let mut config = Config::new("connect-four");
    // the default settings use no solver, which would need memory of its own
    (config.search, config.selfplay) = Default::default();
    let (games, simulations) = (4, 2000);
    let generation = Generation {
        config: &config,
        identity: &rules.identity,
        number: 1,
        games,
        simulations,
        evaluator: "test".into(),
        starts: Starts::default(),
    };
    let mut evaluator = Watching::default();
    let records =
        play_shard(&rules.game, &generation, 0..games, &mut evaluator, &Monitor::default(), &|_| true)
            .unwrap();
    let plies: usize = records.iter().map(|record| record.actions.len()).sum();
    // a game acts and adds noise once per ply; six arrays and a path grow by doubling, from 4 to at most 2^20
    let most = 2 * plies + games * 7 * 18;
    assert!(evaluator.loud <= most, "{} of {} turns allocate", evaluator.loud, evaluator.turns);
    assert!(evaluator.turns > 10 * most, "{} turns prove nothing against {most}", evaluator.turns);
}

/// An editor or a Python process reads one text after another, each a game with its own names.
#[test]
fn a_text_that_is_read_leaves_nothing_in_memory() {
    let read = |number: usize| {
        let text = format!(
            "game Number {number} by author {number}\nabout Words {number}.\noption size{number} = 3 from 3 to 9\n\
             players One{number}, Two{number}\nboard size{number} x size{number}\npiece man{number} A B\n\
             action place man{number} to empty\nend line of 3 own: win\nstuck: draw\nlimit {}: draw\n",
            81 + number
        );
        let (id, settings) = (format!("number-{number}"), [(TEXT.to_string(), text.into())].into());
        let game = Catalog::of::<Games>().open(&id, &settings).unwrap().game;
        assert_eq!(game.about().title, format!("Number {number}"));
        assert_eq!((game.options().len(), game.symmetries(&game.initial()).len()), (1, 8));
        game
    };
    let play = |number: usize| {
        let game = read(number);
        let mut state = game.initial();
        let action = game.legal(&state)[0];
        game.play(&mut state, action);
        assert_eq!(game.count_legal_actions(&state, &mut Vec::new()), 8);
        game.encode(&state, &mut Planes::new(game.shape()));
    };
    play(0);
    let held = HELD.get();
    (1..2000).for_each(|number| drop(read(number)));
    assert_eq!(HELD.get(), held);
    // what is played is compiled, into memory of its own
    let mapped = mapped();
    (2000..2200).for_each(play);
    assert_eq!(HELD.get(), held);
    assert!(self::mapped() < mapped + 50, "of 1,200 areas, few are left");
}

/// Returns the number of areas of this process's memory, on systems that list them.
fn mapped() -> usize {
    std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count())
}
