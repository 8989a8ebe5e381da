//! Games as a page shows them in a list.

use maud::{Markup, PreEscaped, html};

use super::api::{Described, OptionForm, OptionKind};
use crate::any::{AnyGame, Opened};
use crate::draw::{self, Marks};
use crate::error::Result;
use crate::game::Game;
use crate::manual::{Block, blocks, brief};
use crate::options::{Permitted, TEXT};

/// Where the rules of a game come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RulesOrigin {
    /// The program has the rules in Rust.
    Program,
    /// The program carries the rules as a text.
    Shipped,
    /// A file named by the user has the rules as a text.
    Named,
    /// A run has the rules as a text.
    Run,
    /// The editor has the rules as a text.
    Editor,
}

impl RulesOrigin {
    pub(crate) fn id(self) -> &'static str {
        match self {
            RulesOrigin::Program => "program",
            RulesOrigin::Shipped | RulesOrigin::Named => "text",
            RulesOrigin::Run => "run",
            RulesOrigin::Editor => "own",
        }
    }

    /// Returns whether a game must state the text of its rules.
    pub(crate) fn is_said(self) -> bool {
        !matches!(self, RulesOrigin::Program | RulesOrigin::Shipped)
    }
}

/// Returns a game as the page's list shows it.
pub(crate) fn described(rules: &Opened, origin: RulesOrigin) -> Described {
    let about = rules.game.about();
    let mut options = options_of(&rules.game);
    if let Some(text) = rules.identity.options.get(TEXT).filter(|_| origin.is_said()) {
        let (default, values) = (text.clone(), OptionKind::Choice(vec![text.clone()]));
        options.push(OptionForm { name: TEXT.into(), about: "the rules".into(), default, values });
    }
    Described {
        id: rules.identity.id.clone(),
        origin: origin.id(),
        title: about.title.clone(),
        author: about.author.clone(),
        players: about.players.clone(),
        name: about.name.clone(),
        brief: brief(&rules.game),
        options,
    }
}

/// Returns a drawing of the start of a game, for a page that shows several games.
pub(crate) fn start_of(rules: &Opened) -> String {
    let (game, title) = (&rules.game, &rules.game.about().title);
    draw::svg(game, &game.initial(), &Marks::default(), &format!("The start of {title}"))
}

/// Returns the options that can be chosen in a form, with what they do, their values, and their defaults.
fn options_of(game: &AnyGame) -> Vec<OptionForm> {
    let described = game.options().into_iter().map(|option| {
        let values = match option.permitted {
            Permitted::Range(range) => OptionKind::Number([*range.start(), *range.end()]),
            Permitted::OneOf(values) if values.iter().all(toml::Value::is_bool) => OptionKind::Flag(values),
            Permitted::OneOf(values) => OptionKind::Choice(values),
        };
        OptionForm { name: option.name, about: option.effect, default: option.default, values }
    });
    described.collect()
}

/// Returns the rules of a game as HTML, with drawn examples.
pub(crate) fn rules_of(rules: &Opened) -> Result<Markup> {
    let game = &rules.game;
    let blocks = blocks(game)?;
    Ok(html! {
        h2 { (game.about().title) }
        p.facts { code { (rules.identity.id) } ", " (game.about().byline()) "." }
        @for block in &blocks {
            @match block {
                Block::Heading(text) => h3 { (text) },
                Block::Text(text) => p { (text) },
                Block::List(items) => ul { @for item in items { li { (item) } } },
                Block::Example { state, last, caption } => figure {
                    (PreEscaped(draw::svg(game, state, &Marks { last: last.clone(), ..Marks::default() }, caption)))
                    figcaption { (caption) }
                },
            }
        }
    })
}
