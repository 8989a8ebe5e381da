//! The tables of settings. One line of [`section!`] defines a field of a section with its documentation, default, and
//! range; [`choice!`] defines the names of a choice.
//!
//! A table produces the struct with its documentation, its `Default`, the check of its ranges with the messages, the
//! list of [`Setting`]s, and a lenient reader for sections that this version knows only in part.

use std::fmt::{self, Display};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::shown;

/// One setting, as defined in the tables.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Setting {
    /// `section.name`, as in the file and after `--set`.
    pub key: &'static str,
    /// The documentation of the setting.
    pub doc: String,
    /// The kind of the setting's values.
    pub kind: Kind,
    /// The default, as in the file; `None` if the setting is required.
    pub default: Option<String>,
    /// The lowest and the highest permitted value, as in the file.
    pub range: Option<[String; 2]>,
    /// Whether the number must be even.
    pub even: bool,
    /// Whether the setting was measured to gain nothing, or was not measured. Experimental settings come last in
    /// lists.
    pub experimental: bool,
}

/// The kind of a setting's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Switch,
    /// A string.
    Text,
    /// One of the listed strings.
    Choice(&'static [&'static str]),
}

/// A setting whose value is not permitted.
#[derive(Debug)]
pub(super) struct RangeProblem {
    pub key: &'static str,
    pub says: String,
}

/// A setting in a file that was not taken unchanged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ignored {
    /// `section.name`.
    pub key: String,
    /// The value in the file.
    pub value: String,
    /// The consequence in words: what was used instead.
    pub what: &'static str,
}

const UNKNOWN: &str = "unknown to this version";

impl Ignored {
    /// Reports a key of another version, or a misspelled key.
    pub(super) fn unknown(key: String, value: &toml::Value) -> Ignored {
        Ignored { key, value: value.to_string(), what: UNKNOWN }
    }

    /// Returns whether this version does not have the setting.
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

/// A type that a setting can have.
pub(super) trait Value: Clone + Display + PartialOrd + Serialize + DeserializeOwned {
    const KIND: Kind;

    /// Returns the value as in the file.
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

    // omits the digits that only f64 shows
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

/// The constraints of a setting in a line of a table, without its default.
pub(super) struct Rule<T> {
    pub key: &'static str,
    pub doc: &'static str,
    pub ends: Option<[T; 2]>,
    pub even: bool,
    pub experimental: bool,
}

impl<T: Value> Rule<T> {
    /// Checks the range and parity of a value. Compares in the setting's own type: a value that rounds to an f32 limit
    /// equals that limit.
    pub(super) fn check(&self, value: &T) -> Result<(), RangeProblem> {
        let key = self.key;
        if let Some([low, high]) = &self.ends
            // written so that NaN fails
            && !(value >= low && value <= high)
        {
            let says = format!("{key} = {value} is out of range: {low} to {high} is permitted");
            return Err(RangeProblem { key, says });
        }
        if self.even && !value.is_even() {
            let says = format!(
                "{key} = {value} is odd: games come in pairs that play each opening with both colors"
            );
            return Err(RangeProblem { key, says });
        }
        Ok(())
    }

    /// Returns the setting with its default.
    pub(super) fn setting(&self, default: &T) -> Setting {
        Setting {
            key: self.key,
            doc: self.doc.split_whitespace().collect::<Vec<_>>().join(" "),
            kind: T::KIND,
            default: Some(default.text()),
            range: self.ends.as_ref().map(|ends| ends.each_ref().map(T::to_string)),
            even: self.even,
            experimental: self.experimental,
        }
    }

    /// Takes the value from a section of a file that any version may have written. Returns `default` if the value is
    /// missing or has no meaning here, or the nearest permitted value if it is out of range.
    pub(super) fn read(&self, section: &mut toml::Table, default: T, ignored: &mut Vec<Ignored>) -> T {
        let name = self.key.rsplit_once('.').map_or(self.key, |(_, name)| name);
        let Some(found) = section.remove(name) else { return default };
        let value = found.to_string();
        let (replacement, what) = match found.try_into::<T>() {
            Err(_) => (default, "not a value that this version knows: the default is used"),
            Ok(known) if self.check(&known).is_ok() => return known,
            Ok(known) => match self.nearest(&known) {
                Some(near) => (near, "out of the range of this version: the nearest value in range is used"),
                None => (default, "not permitted by this version: the default is used"),
            },
        };
        ignored.push(Ignored { key: self.key.into(), value, what });
        replacement
    }

    /// Returns the end of the range that `value` exceeds; `None` for NaN.
    fn nearest(&self, value: &T) -> Option<T> {
        let [low, high] = self.ends.as_ref()?;
        let end = if value < low { low } else { high };
        (value < low || value > high).then(|| end.clone())
    }
}

/// Returns whether a setting is off (false or 0). Settings that were added to format 1 later are not written while
/// they are off, so that runs without them keep their bytes. In format 2, all settings are written.
pub(super) fn is_off<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}

/// Returns whether a factor is off, like [`is_off`]; factors are off at 1.
pub(super) fn is_one<T: From<u8> + PartialEq>(setting: &T) -> bool {
    *setting == T::from(1)
}

/// Defines a section of the config. Each line has the documentation, name, type, and default of a setting; after `=>`,
/// the default of formats 2 and 3 if it differs; after another `=>`, the default of format 3 if that differs, too; and,
/// if they apply, the range, `even`, and `experimental` for a setting that was measured to gain nothing or was not
/// measured.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $Section:ident, $section:literal {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($how:tt)+)])?
                $name:ident: $kind:ident = $default:expr $(=> $newer:expr $(=> $newest:expr)?)?
                    $(, $low:literal ..= $high:tt)? $(, $flag:ident)*;
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
                    "\n\nDefault ", $crate::config::table::default_text!($default $(, $newer $(, $newest)?)?),
                    $(", range `", stringify!($low), "..=`", $crate::config::table::bound!($high),)?
                    $(", ", stringify!($flag),)*
                    "."
                )]
                $(#[serde($($how)+)])?
                pub $name: $kind,
            )+
        }

        impl Default for $Section {
            fn default() -> Self {
                $Section { $($name: $crate::config::table::default!($kind, $default),)+ }
            }
        }

        impl $Section {
            /// Returns the defaults with some changes.
            pub fn with(change: impl FnOnce(&mut $Section)) -> $Section {
                let mut section = $Section::default();
                change(&mut section);
                section
            }

            /// Returns the defaults of the newest format: settings that made agents stronger are on, even if
            /// [`Default`] leaves them off.
            pub fn recommended() -> $Section {
                $Section { $($name: $crate::config::table::newest!($kind, $default $(, $newer $(, $newest)?)?),)+ }
            }

            /// Returns the defaults of format 2.
            pub(super) fn second() -> $Section {
                $Section { $($name: $crate::config::table::newest!($kind, $default $(, $newer)?),)+ }
            }

            /// Returns the settings of the section, in order.
            pub(super) fn settings() -> Vec<$crate::config::Setting> {
                let defaults = $Section::recommended();
                vec![$(
                    $crate::config::table::rule!($section, $name, $kind, [$($doc)+], [$($low, $high)?], [$($flag)*])
                        .setting(&defaults.$name),
                )+]
            }

            /// Finds the first setting that is not permitted on its own.
            pub(super) fn check(&self) -> Result<(), $crate::config::table::RangeProblem> {
                $(
                    $crate::config::table::rule!($section, $name, $kind, [], [$($low, $high)?], [$($flag)*])
                        .check(&self.$name)?;
                )+
                Ok(())
            }

            /// Reads a section that any version may have written, as far as this version knows it, with `defaults`
            /// for missing settings. Settings that were not taken unchanged are added to `ignored`.
            pub(super) fn read(
                mut section: toml::Table,
                defaults: $Section,
                ignored: &mut Vec<$crate::config::Ignored>,
            ) -> $Section {
                $(
                    let $name = $crate::config::table::rule!(
                        $section, $name, $kind, [], [$($low, $high)?], [$($flag)*]
                    ).read(&mut section, defaults.$name, ignored);
                )+
                ignored.extend(section.into_iter().map(|(name, value)| {
                    $crate::config::Ignored::unknown(format!(concat!($section, ".{}"), name), &value)
                }));
                $Section { $($name),+ }
            }
        }

        impl serde::Serialize for $crate::config::table::Whole<'_, $Section> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $(map.serialize_entry(stringify!($name), &self.0.$name)?;)+
                map.end()
            }
        }
    };
}

/// A section that is written with all of its settings, including those that are off.
pub(super) struct Whole<'a, Section>(pub &'a Section);

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
            pub(crate) const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the choice with this name.
            pub fn named(name: &str) -> Option<$Choice> {
                match name { $($name => Some($Choice::$Name),)+ _ => None }
            }

            /// Returns the name of this choice.
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

/// A default, as a value of its setting's type.
macro_rules! default {
    (String, $value:expr) => {
        String::from($value)
    };
    ($kind:ident, $value:expr) => {
        $value
    };
}

/// The default of the newest format, as a value of its setting's type.
macro_rules! newest {
    ($kind:ident, $value:expr) => {
        $crate::config::table::default!($kind, $value)
    };
    ($kind:ident, $value:expr, $newer:expr) => {
        $crate::config::table::default!($kind, $newer)
    };
    ($kind:ident, $value:expr, $newer:expr, $newest:expr) => {
        $crate::config::table::default!($kind, $newest)
    };
}

/// A default for the documentation.
macro_rules! default_text {
    ($value:expr) => {
        concat!("`", stringify!($value), "`")
    };
    ($value:expr, $newer:expr) => {
        concat!(
            "`",
            stringify!($newer),
            "` in a config, otherwise and in format 1 `",
            stringify!($value),
            "`"
        )
    };
    ($value:expr, $newer:expr, $newest:expr) => {
        concat!(
            "`",
            stringify!($newest),
            "` in a config, in format 2 `",
            stringify!($newer),
            "`, otherwise and in format 1 `",
            stringify!($value),
            "`"
        )
    };
}

/// The upper bound of a range for the documentation.
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
    ($section:literal, $name:ident, $kind:ident, [$($doc:literal)*], [$($low:expr, $high:expr)?],
        [$($flag:ident)*]) => {
        $crate::config::table::Rule::<$kind> {
            key: concat!($section, ".", stringify!($name)),
            doc: concat!($($doc, "\n"),*),
            ends: $crate::config::table::optional!($([$low, $high])?),
            even: $crate::config::table::has_even!($($flag)*),
            experimental: $crate::config::table::has_experimental!($($flag)*),
        }
    };
}

/// Whether `even` is among the flags of a line.
macro_rules! has_even {
    () => { false };
    (even $($rest:ident)*) => { true };
    ($other:ident $($rest:ident)*) => { $crate::config::table::has_even!($($rest)*) };
}

/// Whether `experimental` is among the flags of a line.
macro_rules! has_experimental {
    () => { false };
    (experimental $($rest:ident)*) => { true };
    ($other:ident $($rest:ident)*) => { $crate::config::table::has_experimental!($($rest)*) };
}

/// `Some` of the argument, if there is one.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

pub(super) use {
    bound, choice, default, default_text, has_even, has_experimental, newest, optional, rule, section,
};
