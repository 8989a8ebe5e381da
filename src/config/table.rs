//! The tables of settings: a field of a section, its documentation, default and range stand once, in one line of
//! [`section!`], and so do the names of a choice, in [`choice!`].
//!
//! Out of a table come the struct with its documentation, its `Default`, the check of its ranges with their messages, the
//! list of [`Setting`]s, and the reading of a section of which this program knows only a part.

use std::fmt::{self, Display};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::shown;

/// One setting, as the tables have it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Setting {
    /// `section.name`, as in the file and behind `--set`.
    pub key: &'static str,
    /// What it is for.
    pub doc: String,
    /// What a value of it is.
    pub kind: Kind,
    /// The default, as in the file; `None` when the setting must be given.
    pub default: Option<String>,
    /// The least and the most that is permitted, as in the file.
    pub range: Option<[String; 2]>,
    /// Whether a number must be even.
    pub even: bool,
}

/// What the value of a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Switch,
    /// A text.
    Text,
    /// One of these texts.
    Choice(&'static [&'static str]),
}

/// A key whose value is not permitted.
#[derive(Debug)]
pub(super) struct RangeProblem {
    pub key: &'static str,
    pub says: String,
}

/// A setting that a file has, and that was not taken as it stands there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ignored {
    /// `section.name`.
    pub key: String,
    /// The value in the file.
    pub value: String,
    /// What became of it.
    pub what: &'static str,
}

const UNKNOWN: &str = "unknown to this version";

impl Ignored {
    /// A key of another version, or a misspelt one.
    pub(super) fn unknown(key: String, value: &toml::Value) -> Ignored {
        Ignored { key, value: value.to_string(), what: UNKNOWN }
    }

    /// Whether this program has no such setting.
    pub fn is_unknown(&self) -> bool {
        self.what == UNKNOWN
    }
}

impl Display for Ignored {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Ignored { key, value, what } = self;
        write!(out, "{key} = {}: {what}", shown(value))
    }
}

/// What a setting can be.
pub(super) trait Value: Clone + Display + PartialOrd + Serialize + DeserializeOwned {
    const KIND: Kind;

    /// As in the file.
    fn text(&self) -> String {
        toml::Value::try_from(self).expect("a setting is always valid TOML").to_string()
    }

    fn is_even(&self) -> bool {
        true
    }
}

impl Value for usize {
    const KIND: Kind = Kind::Integer;

    fn is_even(&self) -> bool {
        self.is_multiple_of(2)
    }
}

impl Value for u64 {
    const KIND: Kind = Kind::Integer;
}

impl Value for f32 {
    const KIND: Kind = Kind::Number;

    // not with the digits that only f64 shows
    fn text(&self) -> String {
        format!("{self:?}")
    }
}

impl Value for f64 {
    const KIND: Kind = Kind::Number;
}

impl Value for bool {
    const KIND: Kind = Kind::Switch;
}

impl Value for String {
    const KIND: Kind = Kind::Text;
}

/// What a line of a table says of a setting by itself, beside its default.
pub(super) struct Rule<T> {
    pub key: &'static str,
    pub doc: &'static str,
    pub ends: Option<[T; 2]>,
    pub even: bool,
}

impl<T: Value> Rule<T> {
    /// Compares in the setting's own type: what rounds to an f32 bound is the bound.
    pub fn check(&self, value: &T) -> Result<(), RangeProblem> {
        let key = self.key;
        if let Some([low, high]) = &self.ends
            // written so that NaN fails
            && !(value >= low && value <= high)
        {
            let says = format!("{key} = {value} is out of range: {low} to {high} is permitted");
            return Err(RangeProblem { key, says });
        }
        if self.even && !value.is_even() {
            let says = format!("{key} = {value} is odd: games come in pairs, each opening with both colours");
            return Err(RangeProblem { key, says });
        }
        Ok(())
    }

    /// The setting with its default.
    pub fn setting(&self, default: &T) -> Setting {
        Setting {
            key: self.key,
            doc: self.doc.split_whitespace().collect::<Vec<_>>().join(" "),
            kind: T::KIND,
            default: Some(default.text()),
            range: self.ends.as_ref().map(|ends| ends.each_ref().map(T::to_string)),
            even: self.even,
        }
    }

    /// Takes the value out of a section of a file that any version may have written: the `default` where it is missing or
    /// means nothing here, the nearest that is permitted where it is out of range.
    pub fn read(&self, section: &mut toml::Table, default: T, ignored: &mut Vec<Ignored>) -> T {
        let name = self.key.rsplit_once('.').map_or(self.key, |(_, name)| name);
        let Some(found) = section.remove(name) else { return default };
        let value = found.to_string();
        let (taken, what) = match found.try_into::<T>() {
            Err(_) => (default, "not a value that this version knows: the default is used"),
            Ok(known) if self.check(&known).is_ok() => return known,
            Ok(known) => match self.nearest(&known) {
                Some(near) => (near, "out of the range of this version: the nearest value in it is used"),
                None => (default, "not permitted by this version: the default is used"),
            },
        };
        ignored.push(Ignored { key: self.key.into(), value, what });
        taken
    }

    /// The end of the range beyond which `value` lies; NaN lies nowhere.
    fn nearest(&self, value: &T) -> Option<T> {
        let [low, high] = self.ends.as_ref()?;
        let end = if value < low { low } else { high };
        (value < low || value > high).then(|| end.clone())
    }
}

/// Defines a section of the config. A line of it: documentation, name, type, default, and where they apply the range and
/// `even`.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $Section:ident, $section:literal {
            $(
                $(#[doc = $doc:literal])+
                $name:ident: $kind:ident = $default:expr $(, $low:literal ..= $high:tt)? $(, $even:ident)?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[non_exhaustive]
        pub struct $Section {
            $(
                $(#[doc = $doc])+
                #[doc = concat!(
                    "\n\nDefault ", $crate::config::table::default_text!($kind, $default),
                    $(", range `", stringify!($low), "..=`", $crate::config::table::bound!($high),)?
                    $(", ", stringify!($even),)?
                    "."
                )]
                pub $name: $kind,
            )+
        }

        impl Default for $Section {
            fn default() -> Self {
                $Section { $($name: $crate::config::table::default!($kind, $default),)+ }
            }
        }

        impl $Section {
            /// The defaults with some changes.
            pub fn with(change: impl FnOnce(&mut $Section)) -> $Section {
                let mut section = $Section::default();
                change(&mut section);
                section
            }

            /// The settings of the section, in order.
            pub(super) fn settings() -> Vec<$crate::config::Setting> {
                let defaults = $Section::default();
                vec![$(
                    $crate::config::table::rule!($section, $name, $kind, [$($doc)+], [$($low, $high)?], [$($even)?])
                        .setting(&defaults.$name),
                )+]
            }

            /// Finds the first setting that is not permitted by itself.
            pub(super) fn check(&self) -> Result<(), $crate::config::table::RangeProblem> {
                $(
                    $crate::config::table::rule!($section, $name, $kind, [], [$($low, $high)?], [$($even)?])
                        .check(&self.$name)?;
                )+
                Ok(())
            }

            /// What this program knows of a section that any version may have written; the rest is `ignored`.
            pub(super) fn read(
                mut section: toml::Table,
                ignored: &mut Vec<$crate::config::Ignored>,
            ) -> $Section {
                let defaults = $Section::default();
                $(
                    let $name = $crate::config::table::rule!(
                        $section, $name, $kind, [], [$($low, $high)?], [$($even)?]
                    ).read(&mut section, defaults.$name, ignored);
                )+
                ignored.extend(section.into_iter().map(|(name, value)| {
                    $crate::config::Ignored::unknown(format!(concat!($section, ".{}"), name), &value)
                }));
                $Section { $($name),+ }
            }
        }
    };
}

/// Defines a setting that is one of a few names.
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        pub enum $Choice:ident { $($(#[doc = $doc:literal])+ $Name:ident = $name:literal,)+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub enum $Choice {
            $($(#[doc = $doc])+ #[doc = concat!("\n\nWritten `", $name, "`.")] #[serde(rename = $name)] $Name,)+
        }

        impl $Choice {
            /// The names, as in a config.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name of this one.
            pub fn name(self) -> &'static str {
                match self { $($Choice::$Name => $name),+ }
            }
        }

        impl std::fmt::Display for $Choice {
            fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
                out.write_str(self.name())
            }
        }

        impl $crate::config::table::Value for $Choice {
            const KIND: $crate::config::Kind = $crate::config::Kind::Choice($Choice::NAMES);
        }
    };
}

/// A default in the type of its setting.
macro_rules! default {
    (String, $value:expr) => {
        String::from($value)
    };
    ($kind:ident, $value:expr) => {
        $value
    };
}

/// A default in the documentation.
macro_rules! default_text {
    ($kind:ident, $value:expr) => {
        concat!("`", stringify!($value), "`")
    };
}

/// The upper end of a range in the documentation.
macro_rules! bound {
    ($value:literal) => {
        concat!("`", stringify!($value), "`")
    };
    ($name:ident) => {
        concat!("[`", stringify!($name), "`](crate::config::limits::", stringify!($name), ")")
    };
}

/// The [`Rule`] of a line.
macro_rules! rule {
    ($section:literal, $name:ident, $kind:ident, [$($doc:literal)*], [$($low:expr, $high:expr)?], [$($even:ident)?]) => {
        $crate::config::table::Rule::<$kind> {
            key: concat!($section, ".", stringify!($name)),
            doc: concat!($($doc, "\n"),*),
            ends: $crate::config::table::optional!($([$low, $high])?),
            even: concat!($(stringify!($even))?).len() > 0,
        }
    };
}

/// `Some` of what is there.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

pub(super) use {bound, choice, default, default_text, optional, rule, section};
