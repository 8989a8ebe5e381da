//! Requests and their answers.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::api::{Charts, Home, RunAnswer, RunGames, TaskAnswer, TaskKind, TextAnswer, TextAsked, Texts};
use super::guard::{Guard, guarded};
use super::keys::spec;
use super::runs::{Listed, ShownRuns};
use super::tasks::{self, WebTasks};
use super::texts::KnownTexts;
use super::work::{LOADING, READING, Workers};
use crate::any::Opened;
use crate::arena::perfect;
use crate::error::{Error, Result, quoted};
use crate::page::api::{
    Described, ErrorAnswer, Games, LoadAsked, NamedGame, Offer, PlayedGame, PositionAnswer, PositionAsked,
    Question, ReviewAnswer, ReviewAsked, RulesAnswer, SavedFile, SearchAnswer, SearchAsked, Starts,
};
use crate::page::assets::{ICON, INDEX, asset};
use crate::page::games::{self, Loaded};
use crate::page::listed::{described, start_of};
use crate::page::players::{self, PagePlayer, level_of, plain};
use crate::page::table::{Begun, GameTable, LONGEST, Patience, SeatedAgent};
use crate::page::{Means, locked};
use crate::program::Program;
use crate::registry::Catalog;
use crate::template::filled;

/// The number of searches that may run at the same time; each uses all threads.
const SEARCHES: usize = 2;
/// How long a request waits for its turn to search.
const TURN: Duration = Duration::from_secs(20);
/// The number of games, with different options, that are kept ready.
const TABLES: usize = 32;
/// The memory of a search's tree, in bytes.
const MEMORY: usize = 256 << 20;
/// The time after which a review pauses.
const REVIEWING: Duration = Duration::from_secs(2);
/// The maximum length of the name that a page gives itself.
const PAGE_NAME: usize = 64;

type Answer<T> = std::result::Result<Json<T>, RefusedRequest>;

/// The state that all requests share.
pub(super) struct SharedState {
    runs: Arc<ShownRuns>,
    texts: KnownTexts,
    tasks: WebTasks,
    /// Whether the page is for this machine only.
    is_local: bool,
    games: Vec<Described>,
    starts: Starts,
    /// The games that are small enough for a perfect player.
    small: Vec<String>,
    /// The agents that the program carries, by game.
    shipped: BTreeMap<String, PagePlayer>,
    catalog: Catalog,
    tables: Mutex<HashMap<(String, String), Arc<GameTable>>>,
    means: Means,
    index: String,
    workers: Workers,
    turns: Semaphore,
    /// The stop flag of each page's search.
    searches: Mutex<HashMap<String, Arc<AtomicBool>>>,
}

/// The answer to a refused request: status and reason.
#[derive(Debug)]
pub(super) struct RefusedRequest {
    pub(super) status: StatusCode,
    words: String,
}

impl RefusedRequest {
    pub(super) fn new(status: StatusCode, words: impl Into<String>) -> RefusedRequest {
        RefusedRequest { status, words: words.into() }
    }

    #[cfg(test)]
    pub(super) fn words(&self) -> &str {
        &self.words
    }
}

impl From<Error> for RefusedRequest {
    fn from(error: Error) -> RefusedRequest {
        let status = match error {
            Error::Missing(_) => StatusCode::NOT_FOUND,
            Error::Io { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        RefusedRequest::new(status, error.to_string())
    }
}

impl IntoResponse for RefusedRequest {
    fn into_response(self) -> Response {
        (self.status, Json(ErrorAnswer { error: self.words })).into_response()
    }
}

impl SharedState {
    pub(super) fn new(
        runs: ShownRuns,
        texts: KnownTexts,
        means: Means,
        token: String,
        catalog: Catalog,
        is_local: bool,
    ) -> SharedState {
        let (mut games, mut starts, mut small, mut shipped) =
            (Vec::new(), Starts::new(), Vec::new(), BTreeMap::new());
        for (id, options, origin) in texts.listed() {
            let Ok(rules) = catalog.open(&id, &options) else { continue };
            games.push(described(&rules, origin));
            starts.insert(id.clone(), start_of(&rules));
            shipped.extend(players::shipped(&rules).map(|player| (id.clone(), player)));
            if perfect::is_at_hand(&rules.game) {
                small.push(id);
            }
        }
        SharedState {
            runs: Arc::new(runs),
            texts,
            tasks: WebTasks::default(),
            is_local,
            games,
            starts,
            small,
            shipped,
            catalog,
            tables: Mutex::default(),
            means,
            index: filled(INDEX.1, &[("token", token.as_str()), ("icon", ICON)]),
            workers: Workers::new(),
            turns: Semaphore::new(SEARCHES),
            searches: Mutex::default(),
        }
    }

    /// Returns the table of a game and keeps it for the next request.
    fn table(&self, place: &PlayedGame) -> Result<Arc<GameTable>> {
        let key =
            (place.game.clone(), serde_json::to_string(&place.options).expect("the options came as JSON"));
        if let Some(table) = locked(&self.tables).get(&key) {
            return Ok(table.clone());
        }
        let rules = self.catalog.open(&place.game, &place.options)?;
        let table = Arc::new(GameTable::new(rules, self.means.clone()));
        let mut tables = locked(&self.tables);
        if tables.len() >= TABLES {
            tables.clear();
        }
        tables.insert(key, table.clone());
        Ok(table)
    }

    /// Ends the running task and waits until its results are saved.
    pub(super) fn end_tasks(&self) {
        self.tasks.finish();
    }

    /// Returns the kinds of tasks that this page may begin.
    fn kinds(&self) -> Vec<TaskKind> {
        match self.is_local {
            true if cfg!(feature = "train") => vec![TaskKind::Training, TaskKind::Balance],
            true => vec![TaskKind::Balance],
            false => Vec::new(),
        }
    }

    /// Refuses tasks to other devices, because tasks write files and use all of this machine.
    fn expect_local(&self) -> std::result::Result<(), RefusedRequest> {
        if self.is_local {
            Ok(())
        } else {
            Err(RefusedRequest::new(StatusCode::FORBIDDEN, "only a page on this machine can do this"))
        }
    }

    /// Begins to train an agent for a text's game.
    #[cfg(feature = "train")]
    fn train(&self, rules: Opened) -> Result<TaskAnswer> {
        let folder = self.runs.new_folder(&rules.identity.id)?;
        let (runs, means) = (self.runs.clone(), self.means.clone());
        let task = self.tasks.begin(TaskKind::Training, rules, move |rules, task| {
            tasks::training::train(rules, &folder, &runs, &means, task)
        })?;
        Ok(TaskAnswer { task: Some(task) })
    }

    #[cfg(not(feature = "train"))]
    fn train(&self, _: Opened) -> Result<TaskAnswer> {
        Err(Error::Config("this program was built without training".into()))
    }

    /// Begins to measure the balance of a text's game.
    fn balance(&self, rules: Opened) -> Result<TaskAnswer> {
        let means = self.means.clone();
        let work = move |rules: &Opened, task: &tasks::Task| tasks::balance(rules, &means, task);
        Ok(TaskAnswer { task: Some(self.tasks.begin(TaskKind::Balance, rules, work)?) })
    }

    /// Returns a game that was read from a file, replayed for the page.
    fn settled(&self, loaded: Loaded) -> Result<NamedGame> {
        let resigned = loaded.resigned();
        let options = self.texts.plain(&loaded.game, loaded.options);
        let place =
            PlayedGame { game: loaded.game, options, start: loaded.start, actions: loaded.actions, resigned };
        let (settled, result) = self.table(&place)?.settled(&place, &loaded.values, loaded.ended)?;
        let name = match result.filter(|_| loaded.of_selfplay) {
            Some(result) => format!("{}: {result} after {} actions", loaded.name, place.actions.len()),
            None => loaded.name,
        };
        Ok(NamedGame { name, game: place.game, options: place.options, settled })
    }

    fn all_settled(&self, games: Vec<Loaded>) -> Result<Vec<NamedGame>> {
        games.into_iter().map(|loaded| self.settled(loaded)).collect()
    }
}

/// Returns the routes of all requests.
pub(super) fn router(site: Arc<SharedState>, guard: Guard) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/assets/{name}", get(assets))
        .route("/api/home", get(home))
        .route("/api/starts", get(starts))
        .route("/api/rules", post(rules))
        .route("/api/position", post(position))
        .route("/api/search", post(search))
        .route("/api/review", post(review))
        .route("/api/save", post(save))
        .route("/api/load", post(load))
        .route("/api/texts", get(texts))
        .route("/api/text", post(text))
        .route("/api/task", get(task))
        .route("/api/train", post(train))
        .route("/api/balance", post(balance))
        .route("/api/cancel", post(cancel))
        .route("/api/runs/{id}", get(run))
        .route("/api/runs/{id}/charts", get(charts))
        .route("/api/runs/{id}/games", get(run_games))
        .fallback(async || RefusedRequest::new(StatusCode::NOT_FOUND, "there is no page at this address"))
        .layer(middleware::from_fn_with_state(guard, guarded))
        // the guard has already read the body, up to its own limit
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(site)
}

async fn index(State(site): State<Arc<SharedState>>) -> Html<String> {
    Html(site.index.clone())
}

async fn assets(Path(name): Path<String>) -> std::result::Result<Response, RefusedRequest> {
    let file =
        asset(&name).ok_or_else(|| RefusedRequest::new(StatusCode::NOT_FOUND, "there is no such file"));
    file.map(|(kind, text)| ([(header::CONTENT_TYPE, kind)], text).into_response())
}

fn read<T: DeserializeOwned>(body: &[u8]) -> std::result::Result<T, RefusedRequest> {
    serde_json::from_slice(body)
        .map_err(|error| RefusedRequest::new(StatusCode::BAD_REQUEST, error.to_string()))
}

/// Runs work that reads no files.
async fn compute<T: Send + 'static>(
    site: Arc<SharedState>,
    work: impl FnOnce(&SharedState) -> Result<T> + Send + 'static,
) -> Answer<T> {
    let state = site.clone();
    state.workers.compute(move || Ok(Json(work(&site)?))).await
}

async fn home(State(site): State<Arc<SharedState>>) -> Answer<Home> {
    let state = site.clone();
    let result = site.workers.read("home", READING, move || Ok(state.runs.list())).await;
    let (Listed { runs, mut players, games: of_runs }, trouble) = match result {
        Ok(list) => (list, None),
        // the page can still offer games and agents without runs
        Err(refusal) if refusal.status == StatusCode::GATEWAY_TIMEOUT => {
            (Listed::default(), Some(refusal.words))
        }
        Err(refusal) => return Err(refusal),
    };
    for (id, player) in
        players.iter_mut().flat_map(|(id, players)| players.iter_mut().map(move |player| (id, player)))
    {
        player.options = site.texts.plain(id, std::mem::take(&mut player.options));
    }
    let mut games = site.games.clone();
    for (id, options) in &of_runs {
        // if several runs have games with the same id, the newest run's rules are used, unless the page already has
        // a game with this id
        if site.games.iter().all(|game| game.id != *id)
            && let Some(game) = site.texts.of_run(id, options)
        {
            games.retain(|other| other.id != *id);
            games.push(game);
        }
    }
    let mut agents = BTreeMap::new();
    for game in &games {
        let mut known = players.remove(&game.id).unwrap_or_default();
        known.extend(site.shipped.get(&game.id).cloned());
        known.extend(plain(site.small.contains(&game.id)));
        agents.insert(game.id.clone(), known);
    }
    let program = Program::current();
    let program = format!("{} {}", program.title(), program.version);
    let offer = Offer { program, games, agents, plain: plain(false) };
    Ok(Json(Home { offer, runs, tasks: site.kinds(), trouble }))
}

async fn texts(State(site): State<Arc<SharedState>>) -> Json<Texts> {
    Json(site.texts.to_begin_with())
}

async fn text(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<TextAnswer> {
    let TextAsked { text } = read(&body)?;
    compute(site, move |site| site.texts.checked(&text)).await
}

async fn task(State(site): State<Arc<SharedState>>) -> Json<TaskAnswer> {
    Json(TaskAnswer { task: site.tasks.newest() })
}

/// Begins a task about the game of a text.
async fn begin(
    site: Arc<SharedState>,
    body: &[u8],
    work: fn(&SharedState, Opened) -> Result<TaskAnswer>,
) -> Answer<TaskAnswer> {
    site.expect_local()?;
    let TextAsked { text } = read(body)?;
    compute(site, move |site| {
        let (rules, _) = site.texts.opened(&text)?.map_err(|problem| Error::Config(problem.to_string()))?;
        work(site, rules)
    })
    .await
}

async fn train(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<TaskAnswer> {
    begin(site, &body, SharedState::train).await
}

async fn balance(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<TaskAnswer> {
    begin(site, &body, SharedState::balance).await
}

async fn cancel(State(site): State<Arc<SharedState>>) -> Answer<TaskAnswer> {
    site.expect_local()?;
    site.tasks.cancel();
    Ok(Json(TaskAnswer { task: site.tasks.newest() }))
}

async fn starts(State(site): State<Arc<SharedState>>) -> Json<Starts> {
    Json(site.starts.clone())
}

async fn rules(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<RulesAnswer> {
    let place: PlayedGame = read(&body)?;
    compute(site, move |site| site.table(&place)?.rules()).await
}

async fn position(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<PositionAnswer> {
    let request: PositionAsked = read(&body)?;
    compute(site, move |site| site.table(&request.place)?.position(&request)).await
}

async fn save(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<SavedFile> {
    let place: PlayedGame = read(&body)?;
    compute(site, move |site| Ok(SavedFile { text: site.table(&place)?.saved(&place)? })).await
}

async fn load(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<Games> {
    let LoadAsked { text } = read(&body)?;
    compute(site, move |site| Ok(Games { games: site.all_settled(games::read(&text)?)? })).await
}

/// Parses the number of a run.
fn number(id: &str) -> Result<usize> {
    id.parse().map_err(|_| Error::Config(format!("{} is not the number of a run", quoted(id))))
}

/// Answers a request about a run; requests about different runs do not wait for each other's files.
async fn of_run<T: Send + 'static>(
    site: Arc<SharedState>,
    id: &str,
    work: impl FnOnce(&SharedState, usize) -> Result<T> + Send + 'static,
) -> Answer<T> {
    let (id, state) = (number(id)?, site.clone());
    state.workers.read(&format!("run {id}"), READING, move || Ok(Json(work(&site, id)?))).await
}

async fn run(State(site): State<Arc<SharedState>>, Path(id): Path<String>) -> Answer<RunAnswer> {
    of_run(site, &id, |site, id| {
        let mut run = site.runs.about(id)?;
        run.options = site.texts.plain(&run.game, run.options);
        Ok(run)
    })
    .await
}

async fn charts(State(site): State<Arc<SharedState>>, Path(id): Path<String>) -> Answer<Charts> {
    of_run(site, &id, |site, id| site.runs.charts(id)).await
}

async fn run_games(State(site): State<Arc<SharedState>>, Path(id): Path<String>) -> Answer<RunGames> {
    of_run(site, &id, |site, id| {
        let (generation, records) = site.runs.games(id)?;
        let games = site.all_settled(records.into_iter().map(Loaded::of_record).collect())?;
        Ok(RunGames { generation, games })
    })
    .await
}

/// Ends the search of a page when its request ends, for whatever reason.
struct Running {
    site: Arc<SharedState>,
    page: String,
    stop: Arc<AtomicBool>,
}

impl Running {
    /// Ends the page's earlier search and begins another.
    fn begin(site: &Arc<SharedState>, page: &str) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let page: String = page.chars().take(PAGE_NAME).collect();
        if let Some(earlier) = locked(&site.searches).insert(page.clone(), stop.clone()) {
            earlier.store(true, Ordering::Relaxed);
        }
        Running { site: site.clone(), page, stop }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut searches = locked(&self.site.searches);
        if searches.get(&self.page).is_some_and(|stop| Arc::ptr_eq(stop, &self.stop)) {
            searches.remove(&self.page);
        }
    }
}

/// Loads an agent for a question, waits for a turn, and lets the agent answer. A later question of the same page ends
/// the search early.
async fn with_agent<Q: Send + 'static, T: Send + 'static>(
    site: Arc<SharedState>,
    request: Q,
    question: fn(&Q) -> &Question,
    work: fn(&SeatedAgent, &Q, &AtomicBool) -> Result<T>,
) -> Answer<T> {
    let running = Running::begin(&site, &question(&request).page);
    // the agent is loaded before taking a turn, so that an agent whose file hangs does not hold up other requests
    let (files, state) = (format!("agent {}", question(&request).agent), site.clone());
    let load = move || {
        let Question { place, agent, simulations, level, .. } = question(&request);
        let spec = match level {
            Some(level) => level_of(agent, *level)?,
            None => spec(&state.runs, agent, simulations.map(NonZero::get))?,
        };
        Ok((state.table(place)?.agent(&spec)?, request))
    };
    let (agent, request) = site.workers.read(&files, LOADING, load).await?;
    let busy = || {
        RefusedRequest::new(StatusCode::SERVICE_UNAVAILABLE, "other searches are running: try again later")
    };
    let turn = timeout(TURN, site.turns.acquire()).await;
    // the permit ends with the request: if the client has left, its search has been stopped
    let Ok(Ok(_turn)) = turn else { return Err(busy()) };
    let stop = running.stop.clone();
    site.workers.compute(move || Ok(Json(work(&agent, &request, &stop)?))).await
}

async fn search(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<SearchAnswer> {
    let request: SearchAsked = read(&body)?;
    if request.seconds.is_some_and(|seconds| seconds <= 0.0) {
        return Err(RefusedRequest::new(StatusCode::BAD_REQUEST, "seconds must be more than 0"));
    }
    with_agent(site, request, |request| &request.question, searched).await
}

async fn review(State(site): State<Arc<SharedState>>, body: axum::body::Bytes) -> Answer<ReviewAnswer> {
    with_agent(site, read(&body)?, |request: &ReviewAsked| &request.question, reviewed).await
}

/// Returns the agent's choice; setting `stop` ends the search early.
fn searched(agent: &SeatedAgent, request: &SearchAsked, stop: &AtomicBool) -> Result<SearchAnswer> {
    let mut thinking = match agent.begin(request)? {
        Begun::Answered(answer) => return Ok(answer),
        Begun::Thinks(thinking) => *thinking,
    };
    let end = Instant::now() + Duration::from_secs_f64(thinking.longest);
    let goes_on = || !stop.load(Ordering::Relaxed) && Instant::now() < end;
    thinking.go_on(&Patience { goes_on: &goes_on, memory: MEMORY })?;
    Ok(agent.choice(thinking))
}

/// Returns a review of as many actions as may be reviewed at once.
fn reviewed(agent: &SeatedAgent, request: &ReviewAsked, stop: &AtomicBool) -> Result<ReviewAnswer> {
    let start = Instant::now();
    let goes_on = || !stop.load(Ordering::Relaxed) && start.elapsed().as_secs_f64() < LONGEST;
    let patience = Patience { goes_on: &goes_on, memory: MEMORY };
    let answer = agent.review(request, &patience, &|| start.elapsed() < REVIEWING)?;
    if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(answer) }
}
