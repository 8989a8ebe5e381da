//! Opens a game by its id.
//!
//! A [`Registry`] is a list of types of games, made by [`games!`](crate::games!). It opens games [behind a
//! pointer](crate::any). Petteia's own registry is [`Games`](crate::games::Games); a program with other games has its
//! own registry. A [`Catalog`] is a registry as a value, which is passed to all commands.

use crate::any::{AnyGame, Opened};
use crate::error::{Error, Result, did_you_mean, quoted};
pub use crate::game::ids_of;
use crate::game::{
    Game, GameIdentity, GameOptions, Rules, Settings, Variants, id_of, is_id, short_text_name, text_name,
};
use crate::options::{TEXT, TEXT_HASH};
use crate::shipped::{Shipped, ShippedForGame};
use crate::text_game;

/// A set of games with their ids, made by [`games!`](crate::games!).
pub trait Registry: 'static {
    /// Returns all ids, in the order of the registry.
    fn ids() -> Vec<String>;

    /// Opens the game `id` with these options.
    ///
    /// # Errors
    /// If no game has this id (the message lists the known ids), or if the game rejects an option.
    fn open(id: &str, settings: &Settings) -> Result<Opened>;

    /// Returns the configs and trained agents that the program carries.
    fn shipped() -> &'static [Shipped] {
        &[]
    }
}

/// A [`Registry`] as a value.
///
/// ```
/// use petteia::game::Game;
/// use petteia::games::Games;
/// use petteia::registry::Catalog;
///
/// let games = Catalog::of::<Games>();
/// assert!(games.ids().contains(&"cage-8".to_string()));
/// let rules = games.open("connect-four", &Default::default())?;
/// assert_eq!(rules.game.about().title, "Connect Four");
/// let error = games.open("conect-four", &Default::default()).unwrap_err().to_string();
/// assert!(error.contains("did you mean `connect-four`?"), "{error}");
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Catalog {
    ids: fn() -> Vec<String>,
    open: fn(&str, &Settings) -> Result<Opened>,
    shipped: fn() -> &'static [Shipped],
}

impl Catalog {
    /// Returns the registry `R` as a value.
    pub fn of<R: Registry>() -> Catalog {
        Catalog { ids: R::ids, open: R::open, shipped: R::shipped }
    }

    /// Returns the registry `R` as a value, without the files that it ships.
    pub fn bare<R: Registry>() -> Catalog {
        Catalog { ids: R::ids, open: R::open, shipped: || &[] }
    }

    /// Returns all ids, in the order of the registry.
    pub fn ids(&self) -> Vec<String> {
        (self.ids)()
    }

    /// Opens the game `id` with these options and with the files that the program carries for it. With the option
    /// [`TEXT`], the game is the [text game](crate::text_game) of this text, even if the registry has a game with this
    /// id. Without this option, the game is the one in the registry or, if there is none, the shipped text with this
    /// name. Records name a text by its checksum, which is enough if the program carries the text.
    ///
    /// # Errors
    /// As for [`Registry::open`], and if the text has a problem.
    pub fn open(&self, id: &str, settings: &Settings) -> Result<Opened> {
        if let Some(text) = settings.get(TEXT) {
            let carried =
                text.as_str().filter(|name| name.starts_with(TEXT_HASH)).and_then(|name| self.named(name));
            let mut settings = settings.clone();
            settings.extend(carried.map(|text| (TEXT.into(), text.into())));
            return self.of_text(id, &settings);
        }
        if self.ids().iter().any(|known| known == id) {
            return Ok(Opened { shipped: self.shipped_for(id), ..(self.open)(id, settings)? });
        }
        let Some(text) = self.text(id) else { return Err(unknown(id, &self.names())) };
        let mut settings = settings.clone();
        settings.insert(TEXT.into(), text.into());
        self.of_text(id, &settings)
    }

    /// Returns the text game of the option [`TEXT`], with the files that the program carries for it. They are for the
    /// text that the program carries, not for other rules with the same id.
    fn of_text(&self, id: &str, settings: &Settings) -> Result<Opened> {
        let opened = of_text(id, settings)?;
        let is_carried =
            settings[TEXT].as_str() == self.text(id) && !self.ids().iter().any(|known| known == id);
        let shipped = if is_carried { self.shipped_for(id) } else { ShippedForGame::default() };
        Ok(Opened { shipped, ..opened })
    }

    /// Returns the ids of all games and the names of all texts.
    pub fn names(&self) -> Vec<String> {
        let ids = self.ids();
        let texts = self.text_names().into_iter().map(String::from).filter(|name| !ids.contains(name));
        ids.iter().cloned().chain(texts).collect()
    }

    /// Returns the names of the rules that the program carries as texts, in the order of the registry.
    pub fn text_names(&self) -> Vec<&'static str> {
        (self.shipped)().iter().filter(|file| file.rules().is_some()).map(Shipped::name).collect()
    }

    /// Returns the rules `name` that the program carries as a text.
    pub fn text(&self, name: &str) -> Option<&'static str> {
        (self.shipped)().iter().filter(|file| file.name() == name).find_map(Shipped::rules)
    }

    /// Returns the rules that the program carries as a text and that have this checksum, by which records name them.
    fn named(&self, name: &str) -> Option<&'static str> {
        (self.shipped)().iter().filter_map(Shipped::rules).find(|text| text_name(text) == name)
    }

    /// Returns the names of the configs that the program carries, in the order of the registry.
    pub fn config_names(&self) -> Vec<&'static str> {
        (self.shipped)().iter().filter(|file| file.config().is_some()).map(Shipped::name).collect()
    }

    /// Returns the text of the config `name` that the program carries.
    pub fn config(&self, name: &str) -> Option<&'static str> {
        (self.shipped)().iter().filter(|file| file.name() == name).find_map(Shipped::config)
    }

    /// Returns the files that the program carries for the game `id`.
    pub fn shipped_for(&self, id: &str) -> ShippedForGame {
        let find = |is_wanted: fn(&Shipped) -> bool| {
            (self.shipped)().iter().find(|file| file.name() == id && is_wanted(file)).cloned()
        };
        ShippedForGame { agent: find(Shipped::is_agent), levels: find(Shipped::is_levels) }
    }
}

/// Makes a [`Registry`] of these games: `petteia::games! { pub struct Mine: my_game::MyGame, other::Game }`.
///
/// After `; ships` come the files that the program carries for the games, one per line, relative to the source file.
/// `"../configs/my-game.toml"` is the config with which `petteia train my-game` trains;
/// `"../agents/my-game.safetensors"`, written by `petteia export`, is the agent `shipped`; and
/// `"../agents/my-game.levels"` has the agent's [levels](crate::arena::levels). See [`Shipped`].
///
/// ```
/// use petteia::registry::Registry;
///
/// petteia::games! {
///     /// The games of this program.
///     pub struct Mine: petteia::games::tic_tac_toe::TicTacToe, petteia::games::cage::Cage
/// }
/// assert_eq!(Mine::ids(), ["tic-tac-toe", "cage", "cage-8", "cage-6", "cage-4"]);
/// ```
#[macro_export]
macro_rules! games {
    (
        $(#[$about:meta])* $visibility:vis struct $name:ident : $($game:ty),+ $(,)?
        $(; ships $($file:literal),+ $(,)?)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        $visibility struct $name;

        impl $crate::registry::Registry for $name {
            fn ids() -> ::std::vec::Vec<::std::string::String> {
                let mut ids = ::std::vec::Vec::new();
                $(ids.extend($crate::registry::ids_of::<$game>());)+
                ids
            }

            fn open(
                id: &str,
                settings: &$crate::game::Settings,
            ) -> $crate::error::Result<$crate::any::Opened> {
                $(if let Some(rules) = $crate::registry::find::<$game>(id, settings)? {
                    return Ok(rules.opened());
                })+
                Err($crate::registry::unknown(id, &Self::ids()))
            }

            $(fn shipped() -> &'static [$crate::shipped::Shipped] {
                static FILES: &[$crate::shipped::Shipped] =
                    &[$($crate::shipped::Shipped::new($file, include_bytes!($file))),+];
                FILES
            })?
        }
    };
}

/// Returns the rules of `G` if `id` is one of its variants; for [`games!`](crate::games!).
///
/// # Errors
/// If the game rejects an option.
pub fn find<G: Variants>(id: &str, settings: &Settings) -> Result<Option<Rules<G>>> {
    let Some(variant) = G::VARIANTS.iter().find(|variant| id == id_of(G::NAME, variant)) else {
        return Ok(None);
    };
    Rules::new(&GameOptions { variant: variant.to_string(), settings: settings.clone() }).map(Some)
}

/// Returns the text game of the option [`TEXT`], which must have this id.
fn of_text(id: &str, settings: &Settings) -> Result<Opened> {
    let mut options = settings.clone();
    let text = options.remove(TEXT).expect("there is a text");
    let Some(text) = text.as_str() else {
        return Err(Error::Config(format!("game.{TEXT} must be the text of the rules")));
    };
    if text.starts_with(TEXT_HASH) {
        return Err(Error::Config(format!(
            "the rules of {} are a text that this program does not have ({}): name the file of the \
             rules, or the run, instead of the game",
            quoted(id),
            short_text_name(text)
        )));
    }
    let game = text_game::read(text, &options)
        .map_err(|problem| Error::Config(format!("the text of {}, {problem}", quoted(id))))?;
    let options = GameOptions { variant: String::new(), settings: settings.clone() };
    let opened = text_game::with_game!(game, game => Rules::of(game, &options)?.opened());
    if opened.identity.id == id {
        Ok(opened)
    } else {
        Err(Error::Config(format!(
            "the text has the rules of {}, not of {}",
            quoted(&opened.identity.id),
            quoted(id)
        )))
    }
}

/// Returns the [text game](crate::text_game) on a board of this width and height, if its text has an option `size`, or
/// the options `width` and `height`, and permits these values.
pub fn resized(identity: &GameIdentity, width: usize, height: usize) -> Option<AnyGame> {
    if !identity.options.contains_key(TEXT) {
        return None;
    }
    let number = |number: usize| i64::try_from(number).ok().map(toml::Value::from);
    let sizes = [vec![("size", width)], vec![("width", width), ("height", height)]];
    let opened = |sizes: &Vec<(&str, usize)>| {
        let mut settings = identity.options.clone();
        for (name, size) in sizes {
            settings.insert((*name).into(), number(*size)?);
        }
        of_text(&identity.id, &settings).ok()
    };
    let fits = |rules: &Opened| (rules.game.shape().width, rules.game.shape().height) == (width, height);
    sizes.iter().filter_map(opened).find(fits).map(|rules| rules.game)
}

/// Returns the error for an id that is not one of `ids`; for [`games!`](crate::games!).
pub fn unknown(id: &str, ids: &[String]) -> Error {
    let hint = did_you_mean(id, ids.iter().map(String::as_str));
    Error::Config(format!("unknown game {}{hint} (games here: {})", quoted(id), ids.join(", ")))
}

/// Rejects a registry in which two games have the same id, because only the first could ever be opened. Also rejects a
/// registry that ships a file without a use, such as a file that is neither a config nor the agent of a game.
///
/// # Errors
/// If an id occurs twice or is not lowercase with hyphens, or if a file has no use.
pub fn check(games: Catalog) -> Result<()> {
    let (mut ids, names) = (games.ids(), games.names());
    let is_of_game =
        |file: &Shipped| (file.is_agent() || file.is_levels()) && names.contains(&file.name().into());
    let useless = |file: &&Shipped| file.config().is_none() && file.rules().is_none() && !is_of_game(file);
    if let Some(file) = (games.shipped)().iter().find(useless) {
        return Err(Error::Config(format!(
            "this program ships {}: it must be a config, NAME.toml, rules, NAME.game, or the agent or the levels of \
             one of its games, ID.safetensors or ID.levels",
            quoted(&file.path)
        )));
    }
    if let Some(id) = ids.iter().find(|id| !is_id(id)) {
        return Err(Error::Config(format!(
            "the id {} of one of this program's games is not lower case with hyphens",
            quoted(id)
        )));
    }
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::Config(format!(
            "two games of this program have the id {}: change the NAME or VARIANTS of one of them",
            quoted(&pair[0])
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::tic_tac_toe::TicTacToe;

    games! { struct Twice: TicTacToe, crate::games::phage::Phage, TicTacToe }
    games! { struct Misnamed: TicTacToe; ships "registry.rs" }
    games! { struct Mixed: TicTacToe; ships "../rules/hex.game" }

    #[test]
    fn a_duplicate_id_is_rejected() {
        assert!(check(Catalog::of::<crate::games::Games>()).is_ok());
        assert!(check(Catalog::of::<Twice>()).unwrap_err().to_string().contains("`tic-tac-toe`"));
    }

    /// A registry whose ids are not made from the names of games.
    #[derive(Debug)]
    struct Loud;

    impl Registry for Loud {
        fn ids() -> Vec<String> {
            vec!["tic-tac-toe".into(), "Big-Game".into()]
        }

        fn open(id: &str, _settings: &Settings) -> Result<Opened> {
            Err(unknown(id, &Loud::ids()))
        }
    }

    #[test]
    fn an_id_is_in_lower_case_with_hyphens() {
        let error = check(Catalog::of::<Loud>()).unwrap_err().to_string();
        assert_eq!(error, "the id `Big-Game` of one of this program's games is not lower case with hyphens");
    }

    #[test]
    fn a_program_mixes_texts_and_games_in_rust() {
        let games = Catalog::of::<Mixed>();
        assert!(check(games).is_ok());
        assert_eq!(games.names(), ["tic-tac-toe", "hex"]);
        let text: toml::Value = games.text("hex").unwrap().into();
        let settings = [(TEXT.to_string(), text), ("size".to_string(), 5.into())].into();
        assert_eq!(games.open("hex", &settings).unwrap().identity.shape.width, 5);
        assert_eq!(games.open("tic-tac-toe", &Settings::new()).unwrap().identity.shape.width, 3);
    }

    #[test]
    fn a_shipped_file_is_of_use() {
        let error = check(Catalog::of::<Misnamed>()).unwrap_err().to_string();
        assert!(error.starts_with("this program ships `registry.rs`: it must be a config"), "{error}");
    }
}
