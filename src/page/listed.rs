//! Games as a page lists them.

use maud::{Markup, PreEscaped, html};

use super::api::{Described, OptionForm, OptionKind};
use crate::any::{AnyGame, Opened};
use crate::draw::{self, Marks};
use crate::error::Result;
use crate::game::Game;
use crate::manual::{Block, blocks, brief};
use crate::options::{Permitted, TEXT};

/// Where the rules of a game are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The program has them in Rust.
    Program,
    /// The program carries them as a text.
    Shipped,
    /// A file that the user named has them as a text.
    Named,
    /// A run has them as a text.
    Run,
    /// The editor has them as a text.
    Editor,
}

impl Origin {
    pub(crate) fn id(self) -> &'static str {
        match self {
            Origin::Program => "program",
            Origin::Shipped | Origin::Named => "text",
            Origin::Run => "run",
            Origin::Editor => "own",
        }
    }

    /// Whether a game must say by which text it is played.
    pub(crate) fn is_said(self) -> bool {
        !matches!(self, Origin::Program | Origin::Shipped)
    }
}

/// A game as the page's list shows it.
pub(crate) fn described(rules: &Opened, origin: Origin) -> Described {
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

/// The start of a game, for a page that shows several.
pub(crate) fn start_of(rules: &Opened) -> String {
    let (game, title) = (&rules.game, &rules.game.about().title);
    draw::svg(game, &game.initial(), &Marks::default(), &format!("The start of {title}"))
}

/// The options that can be chosen in a form: what they do, their values, and the default.
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

/// The rules of a game as HTML, with drawn examples.
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
