//! A game for the page, without type parameters: positions with drawings, and agents that play the game.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Means;
use super::agents::{Agents, LoadedAgent};
use super::api::{
    GameOver, LegalAction, Mistake, PlayedGame, PositionAnswer, PositionAsked, ReviewAnswer, ReviewAsked,
    ReviewedPly, RulesAnswer, SearchAnswer, SearchAsked, Settled, Visited,
};
use super::listed::rules_of;
use crate::any::{AnyGame, AnyState, Opened};
use crate::arena::contestant::VARIED_PLIES;
use crate::arena::review::{NOTICED, Thought, Verdict, analyses, perfect_line, verdict};
use crate::arena::searching::SearchAgent;
use crate::arena::spec::AgentSpec;
use crate::draw::{self, Marks, Place};
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome, Player, line_text, outcome_text};
use crate::random::{Purpose, stream};
use crate::replay::ended::Ended;
use crate::search::Search;
use crate::search::tree::for_first;
use crate::session::{Session, illegal, meant, saved};

/// The time limit of a search, in seconds.
pub(crate) const LONGEST: f64 = 60.0;
/// The number of actions of an expected line that are drawn.
const LINE: usize = 5;

/// The rules of a game and its agents.
pub(crate) struct GameTable {
    rules: Opened,
    means: Means,
    agents: Agents,
}

/// What an agent does when asked for an action.
pub(crate) enum Begun {
    /// The agent knew its action at once.
    Answered(SearchAnswer),
    Thinks(Box<Thinking>),
}

/// The search of an agent for its action.
pub(crate) struct Thinking {
    agent: SearchAgent<AnyGame>,
    state: AnyState,
    /// The time limit in seconds.
    pub(crate) longest: f64,
    varies: bool,
    /// Whether the number of simulations is limited.
    is_limited: bool,
}

/// How long an agent may continue to think.
pub(crate) struct Patience<'a> {
    /// Called before each round of simulations; returns whether to continue.
    pub(crate) goes_on: &'a (dyn Fn() -> bool + Sync),
    /// The memory that all simultaneous searches may use, in bytes.
    pub(crate) memory: usize,
}

impl Thinking {
    /// Continues the search as long as `patience` allows; returns true if nothing is left to search.
    pub(crate) fn go_on(&mut self, patience: &Patience) -> Result<bool> {
        let Thinking { agent, is_limited, .. } = self;
        let is_enough = |search: &Search<AnyGame>| {
            search.tree().size().1 >= patience.memory || !*is_limited && search.tree().is_solved()
        };
        let mut is_over = false;
        agent.go_on(|search| {
            is_over = is_enough(search);
            if !is_over && (patience.goes_on)() { usize::MAX } else { 0 }
        })?;
        Ok(is_over || agent.is_over())
    }
}

/// An agent at a table.
pub(crate) struct SeatedAgent {
    table: Arc<GameTable>,
    agent: LoadedAgent,
}

impl GameTable {
    pub(crate) fn new(rules: Opened, means: Means) -> GameTable {
        GameTable { rules, means, agents: Agents::new() }
    }

    fn game(&self) -> &AnyGame {
        &self.rules.game
    }

    /// Returns the game as it was sent; its last action may be text that a person typed.
    fn session(&self, place: &PlayedGame) -> Result<Session<AnyGame>> {
        let game = self.game();
        let start = match &place.start {
            Some(text) => game.parse_state(text)?,
            None => game.initial(),
        };
        let mut session = Session::from(game.clone(), start);
        for text in &place.actions {
            let (state, text) = (session.state(), text.trim());
            let action = meant(game, state, text).ok_or_else(|| illegal(game, state, text))?;
            session.play(action);
        }
        saved::check_resigned(&session, place.resigned)?;
        Ok(session)
    }

    fn text(&self, state: &AnyState, action: Action) -> String {
        self.game().action_text(state, action)
    }

    /// Returns the outcome of a game, and a description of its end; `None` if the game is not over.
    fn result(&self, state: &AnyState, resigned: Option<Player>) -> Option<(Outcome, String)> {
        let game = self.game();
        if let Some(loser) = resigned {
            let outcome = Outcome::Win(loser.other());
            let words = format!("{} resigned: {}", game.about().player(loser), outcome_text(game, outcome));
            return Some((outcome, words));
        }
        let outcome = game.outcome(state)?;
        let result = outcome_text(game, outcome);
        let ending = game.ending(state);
        Some((outcome, if ending.is_empty() { result } else { format!("{result}: {ending}") }))
    }

    /// Returns the squares of actions, with their weights.
    fn weights(&self, state: &AnyState, weights: &[(String, f32)]) -> Vec<(Vec<Place>, f32)> {
        let weights = weights.iter().filter_map(|(text, weight)| {
            let action = meant(self.game(), state, text)?;
            Some((self.game().touched(state, action), if weight.is_finite() { *weight } else { 0.0 }))
        });
        weights.collect()
    }

    /// Returns the squares of the first actions of an expected line.
    fn line(&self, state: &AnyState, line: &[String]) -> Vec<Vec<Place>> {
        let (mut state, mut drawn) = (state.clone(), Vec::new());
        for text in line.iter().take(LINE) {
            let Some(action) = meant(self.game(), &state, text) else { break };
            drawn.push(self.game().touched(&state, action));
            self.game().play(&mut state, action);
        }
        drawn
    }

    /// Returns the rules with their identity.
    pub(crate) fn opened(&self) -> &Opened {
        &self.rules
    }

    /// Returns the rules of the game as HTML.
    pub(crate) fn rules(&self) -> Result<RulesAnswer> {
        Ok(RulesAnswer { html: rules_of(&self.rules)?.into_string() })
    }

    /// Returns the position that a game has reached.
    pub(crate) fn position(&self, request: &PositionAsked) -> Result<PositionAnswer> {
        let game = self.game();
        let session = self.session(&request.place)?;
        let state = session.state();
        // opponents who sit opposite each other see the board from their own sides
        let turned = request.flipped ^ (request.viewer == Some(Player::Second) && draw::sit_opposite(game));
        let turned = turned && !game.about().upright;
        let mut marks = Marks { last: session.touched(), turned, ..Marks::default() };
        [marks.weights, marks.priors] =
            [&request.weights, &request.priors].map(|weights| self.weights(state, weights));
        marks.numbered = request.numbered;
        marks.line = self.line(state, &request.line);
        let view = game.view(state);
        let over = self.result(state, request.place.resigned);
        let legal = if over.is_some() { Vec::new() } else { game.legal(state) };
        let legal = legal.into_iter().map(|action| LegalAction {
            text: self.text(state, action),
            places: game.touched(state, action),
            words: game.action_words(state, action),
        });
        let legal = legal.collect();
        let tried = request.tried.as_deref().filter(|_| over.is_none());
        let movers = session.plies().map(|(state, _)| game.to_move(&state).id()).collect();
        let words: Vec<Option<String>> =
            session.plies().map(|(state, action)| game.action_words(&state, action)).collect();
        let players = game.about().player_names();
        let colors = [0, 1].map(|player| draw::color(players[player], player));
        let to_move = game.to_move(state);
        let title = match &over {
            Some((_, text)) => text.clone(),
            None => format!("{} to move", players[to_move.index()]),
        };
        Ok(PositionAnswer {
            svg: draw::svg(game, state, &marks, &title),
            position: game.state_text(state),
            start: game.state_text(session.start()),
            actions: session.texts(),
            movers,
            words: words.iter().any(Option::is_some).then_some(words),
            players: players.map(String::from),
            colors,
            to_move: to_move.id(),
            over: over.map(|(outcome, text)| GameOver { outcome: outcome.id(), text }),
            rows: view.rows.len(),
            columns: view.columns.len(),
            turned,
            upright: game.about().upright,
            note: view.caption(players).into(),
            last: marks.last,
            names: draw::names(game, state),
            why: tried.and_then(|text| game.why_illegal(state, text)),
            legal,
        })
    }

    /// Returns an agent, loading it if it is not loaded yet or its files have changed.
    pub(crate) fn agent(self: Arc<Self>, spec: &AgentSpec) -> Result<SeatedAgent> {
        let agent = self.agents.get(&self.rules, spec, &self.means)?;
        Ok(SeatedAgent { table: self, agent })
    }

    /// Returns a game as the text of a file.
    pub(crate) fn saved(&self, place: &PlayedGame) -> Result<String> {
        Ok(saved::text(&self.rules.identity, &self.session(place)?, place.resigned))
    }

    /// Returns a game from elsewhere, replayed by the rules, with the first player's expected score at each ply, and
    /// who won, in words, if the game is over.
    pub(crate) fn settled(
        &self,
        place: &PlayedGame,
        values: &[Option<f32>],
        ended: Option<(Ended, Outcome)>,
    ) -> Result<(Settled, Option<String>)> {
        let session = self.session(place)?;
        let scores: Vec<Option<f32>> = session
            .plies()
            .zip(values)
            .map(|((state, _), value)| {
                value.map(|value| (for_first(self.game().to_move(&state), value) + 1.0) / 2.0)
            })
            .collect();
        let by_rules = self.result(session.state(), place.resigned).map(|(outcome, _)| outcome);
        let outcome = by_rules.or(ended.map(|(_, outcome)| outcome));
        let settled = Settled {
            start: self.game().state_text(session.start()),
            actions: session.texts(),
            resigned: place.resigned,
            outcome: outcome.map(Outcome::id),
            scores: (!scores.is_empty()).then_some(scores),
        };
        let how = ended.map_or(String::new(), |(ended, _)| format!(" {}", ended.words()));
        Ok((settled, outcome.map(|outcome| outcome_text(self.game(), outcome) + &how)))
    }
}

impl SeatedAgent {
    /// Begins to determine the agent's choice in a position.
    pub(crate) fn begin(&self, request: &SearchAsked) -> Result<Begun> {
        let SeatedAgent { table, agent: LoadedAgent { contestant, .. } } = self;
        let session = table.session(&request.question.place)?;
        let state = session.state();
        if session.is_over() || request.question.place.resigned.is_some() {
            return Err(Error::Position("the game is over: there is nothing to search for".into()));
        }
        let random = stream(request.seed, Purpose::Agent, &[session.actions().len() as u64]);
        let Some(mut agent) = contestant.search_agent(random.clone()) else {
            let action = contestant.agent(random).choose(state)?;
            return self.unsearched(state, action).map(Begun::Answered);
        };
        let seconds = request.seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
        let planned = if seconds.is_some() { None } else { Some(agent.simulations()) };
        agent.begin(state, planned);
        let varies = request.vary && session.actions().len() < VARIED_PLIES;
        let longest = seconds.unwrap_or(LONGEST).min(LONGEST);
        let is_limited = planned.is_some();
        Ok(Begun::Thinks(Box::new(Thinking { agent, state: state.clone(), longest, varies, is_limited })))
    }

    /// Returns the agent's choice after a search, with its numbers.
    pub(crate) fn choice(&self, thinking: Thinking) -> SearchAnswer {
        let Thinking { mut agent, state, varies, .. } = thinking;
        let analysis = agent.analysis();
        let action = if varies { agent.varied(&analysis) } else { agent.chosen() };
        let proven = agent.forget().and_then(|search| search.tree().proven());
        SearchAnswer {
            action: self.table.text(&state, action),
            ..self.answer(&state, &Thought { analysis, proven })
        }
    }

    /// Returns the answer of an agent that does not search: its action and, if it is perfect, the value of the position
    /// and the expected line.
    fn unsearched(&self, state: &AnyState, action: Action) -> Result<SearchAnswer> {
        let SeatedAgent { table, agent: LoadedAgent { contestant, network } } = self;
        let game = table.game();
        let (mut known, mut line) = (None, Vec::new());
        if let Some(mut solver) = contestant.solver() {
            let mut next = state.clone();
            game.play(&mut next, action);
            known = Some(solver.outcome(state)?);
            line.push(action);
            line.extend(perfect_line(game, &mut solver, &next)?);
        }
        Ok(SearchAnswer {
            action: table.text(state, action),
            value: known.map(|outcome| outcome.value_for(game.to_move(state))),
            score: known.map(|outcome| outcome.score_for(Player::First)),
            simulations: None,
            visits: Vec::new(),
            line: line_text(game, state, &line),
            proven: known.map(Outcome::id),
            network: network.clone(),
        })
    }

    /// Returns the numbers of a search, or what is known about the position without a search.
    fn answer(&self, state: &AnyState, thought: &Thought) -> SearchAnswer {
        let SeatedAgent { table, agent: LoadedAgent { network, .. } } = self;
        let (game, Thought { analysis, proven }) = (table.game(), thought);
        let priors: BTreeMap<Action, f32> = analysis.priors.iter().copied().collect();
        let mut visits = analysis.visits.clone();
        visits.sort_by_key(|&(action, visits)| (action != analysis.action, Reverse(visits), action));
        let visits = visits.into_iter().map(|(action, visits)| Visited {
            action: table.text(state, action),
            visits,
            prior: priors.get(&action).copied(),
        });
        SearchAnswer {
            action: table.text(state, analysis.action),
            value: Some(analysis.value),
            score: Some((for_first(game.to_move(state), analysis.value) + 1.0) / 2.0),
            simulations: Some(analysis.simulations).filter(|simulations| *simulations > 0),
            visits: visits.collect(),
            line: line_text(game, state, &analysis.principal_variation),
            proven: proven.map(Outcome::id),
            network: network.clone(),
        }
    }

    /// Returns what the actions of a game lost, from a ply on, as far as patience allows; `wants_more` is called after
    /// each reviewed action.
    pub(crate) fn review(
        &self,
        request: &ReviewAsked,
        patience: &Patience,
        wants_more: &dyn Fn() -> bool,
    ) -> Result<ReviewAnswer> {
        let SeatedAgent { table, agent: LoadedAgent { contestant, .. } } = self;
        let (game, session) = (table.game(), table.session(&request.question.place)?);
        let mut states: Vec<AnyState> = session.plies().map(|(state, _)| state).collect();
        states.push(session.state().clone());
        let threads = table.means.threads;
        let goes_on = |search: Option<&Search<AnyGame>>| {
            let has_room = |search: &Search<_>| search.tree().size().1 < patience.memory / threads.max(1);
            (patience.goes_on)() && search.is_none_or(has_room)
        };
        let states = states.get(request.from..).unwrap_or_default();
        let mut thoughts = Vec::new();
        // an action needs the positions before and after it
        while thoughts.len() < states.len() && (thoughts.len() < 2 || wants_more()) {
            let rest = &states[thoughts.len()..];
            let some = &rest[..threads.clamp(1, rest.len())];
            thoughts.extend(analyses(game, contestant, some, request.from + thoughts.len(), &goes_on)?);
        }
        let is_whole = thoughts.len() == states.len();
        let plies = if is_whole { thoughts.len() } else { thoughts.len() - 1 };
        let reviewed = (0..plies).filter_map(|index| {
            let (before, thought) = (&states[index], thoughts[index].as_ref()?);
            let next = states.get(index + 1).map(|next| (next, thoughts[index + 1].as_ref()));
            let ply = request.from + index;
            let lost = next.and_then(|next| verdict(game, (before, thought), session.actions()[ply], next));
            let mistake = lost.map(|lost| self.mistake(before, &lost));
            Some(ReviewedPly { ply, search: self.answer(before, thought), mistake })
        });
        let next = (!is_whole).then_some(request.from + plies);
        Ok(ReviewAnswer { noticed: NOTICED, plies: reviewed.collect(), next })
    }

    fn mistake(&self, before: &AnyState, verdict: &Verdict) -> Mistake {
        Mistake {
            could: verdict.could,
            got: verdict.got,
            better: self.table.text(before, verdict.better),
            line: line_text(self.table.game(), before, &verdict.line),
        }
    }
}
