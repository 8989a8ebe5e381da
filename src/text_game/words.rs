//! The words of the language, in one table that the parser, the guide, and the page share.
//!
//! To add a word, add a row here. The parser matches on these types, so the compiler points out where the word's
//! meaning is missing. The page's editor shows [`SECTIONS`], and a test compares them with the tables of
//! `docs/rules-as-text.md`.

use super::geometry::Direction;

/// A row of the guide: how a word is written, and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The word with its arguments.
    pub form: &'static str,
    /// What the word means; code is in backquotes.
    pub meaning: &'static str,
}

/// Words that can occur in the same place.
pub(super) trait Vocabulary: Copy + 'static {
    /// Each word with its value for the parser.
    const WORDS: &'static [(&'static str, Self)];
    const USAGE: &'static [Usage];

    fn words<'a>() -> impl Iterator<Item = &'a str> + Clone {
        Self::WORDS.iter().map(|(word, _)| *word)
    }

    /// Returns the value of a word in this vocabulary.
    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
    }
}

macro_rules! vocabulary {
    ($($(#[$doc:meta])* $group:ident { $($name:ident $word:literal: $form:literal, $meaning:literal;)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $group { $($name),* }

        impl Vocabulary for $group {
            const WORDS: &'static [(&'static str, $group)] = &[$(($word, $group::$name)),*];
            const USAGE: &'static [Usage] = &[$(Usage { form: $form, meaning: $meaning }),*];
        }
    )* };
}

vocabulary! {
    /// Words that begin a statement.
    StatementWord {
        Game "game": "game TITLE by AUTHOR", "the title; in lower case and with hyphens, it is also the id";
        About "about": "about WORDS", "a description for people; any number of lines";
        Option "option": "option NAME = N from N to N", "a number that a user can set with `--set game.NAME=N`; can \
            be used in place of any number";
        Players "players": "players White, Black", "the names of the players";
        Board "board": "board 8 x 8", "also `board hex 7 x 7`, `board hexagon 4`, `board triangle 6`; 400 squares at \
            most";
        Hole "hole": "hole SQUARES", "squares that do not exist; must precede the lines that mention squares";
        Piece "piece": "piece NAME X x", "a kind of piece, and its letter for each player";
        State "state": "state NAME x", "a property that a square can have with or without a piece on it, for example \
            being closed";
        Counter "counter": "counter NAME = N", "a number for each player; `counter NAME per piece = N`: one for each \
            kind of piece";
        Start "start": "start PIECE: SQUARES | SQUARES", "where the pieces of each player are at the start; `start \
            STATE: SQUARES` for a state";
        Set "set": "set NAME = SQUARES", "a name for squares; `SQUARES | SQUARES` if they differ between the players; \
            the network sees each named set";
        Phase "phase": "phase NAME", "the actions below this line belong to this phase; a game begins in the first \
            phase";
        Action "action": "action ...", "what a player can do";
        Otherwise "otherwise": "otherwise ...", "an action that is possible only if those above it are impossible";
        End "end": "end CONDITION: RESULT", "ends the game if the condition holds after an action; ends are tested in \
            the order of the text; the result is for the player who has just acted";
        Stuck "stuck": "stuck: RESULT", "the result for a player who cannot act; required unless a player can always \
            `pass` or an `end` tests `stuck enemy`";
        Repetition "repetition": "repetition N: RESULT", "the result when a position occurs for the Nth time";
        Quiet "quiet": "quiet N: RESULT", "the result after N consecutive actions that leave the numbers of pieces \
            and states unchanged";
        Limit "limit": "limit N: RESULT", "the result after N actions; required, so that every game ends";
    }

    /// How a piece gets to a square.
    WayWord {
        Place "place": "place PIECE to SQUARES", "puts a new piece on a square; `place STATE to SQUARES`: gives a \
            square the state, even if a piece is on it";
        Drop "drop": "drop PIECE", "puts a new piece on the lowest empty square of a column";
        Step "step": "step PIECE DIRECTIONS to SQUARES", "one step; in actions that move a piece, the word `piece` in \
            place of PIECE means a piece of any kind";
        Slide "slide": "slide PIECE DIRECTIONS to SQUARES", "any number of steps over empty squares, or over other \
            squares with `through SQUARES`. To limit the number of steps, write `at most N`, `at least N`, `exactly \
            N`, or `exactly count SQUARES` (the number of these squares in the line) after the directions";
        Hop "hop": "hop PIECE DIRECTIONS over SQUARES to SQUARES", "over a neighbor to the square behind it, which \
            must be empty if `to` is left out; can end with `or off board`";
        Leap "leap": "leap PIECE 1 2 to SQUARES", "the first number of squares along one axis and the second along \
            the other, in every direction; can list several pairs";
        Swap "swap": "swap", "the players exchange sides";
        Pass "pass": "pass", "the player does nothing";
    }

    /// Words that begin the clauses of an action, each after a comma.
    ClauseWord {
        If "if": "if CONDITION", "must hold before the action";
        Require "require": "require CONDITION", "must hold after the action";
        Capture "capture": "capture", "captures the enemy piece that the action moves onto or jumps over";
        Exchange "exchange": "exchange", "exchanges the moving piece with the piece on its target square";
        Remove "remove": "remove SQUARES", "removes the pieces there";
        Flip "flip": "flip SQUARES", "gives the pieces there to the other player";
        Mark "mark": "mark STATE at SQUARES", "the squares get the state";
        Unmark "unmark": "unmark STATE at SQUARES", "the squares lose the state";
        Promote "promote": "promote to PIECE", "changes the kind of the piece that has moved or, with `at SQUARES`, \
            of the pieces there";
        Count "count": "count down COUNTER", "or `count up COUNTER`: changes the player's counter by one; add `of \
            enemy` for the opponent's";
        When "when": "when CONDITION: EFFECT", "the effect takes place only if the condition holds";
        Again "again": "again", "the same piece continues by the same line if it can and is still the player's; with \
            `again may` the player can also `pass` (write a line `otherwise pass`)";
        Then "then": "then PHASE", "the same player acts next, in that phase";
        Phase "phase": "phase PHASE", "the other player acts next, in that phase";
    }

    /// Words that begin sets of squares.
    SquaresWord {
        Own "own": "own", "the pieces of the player who acts (in `end`, of the player who has acted); `own PIECE`: of \
            this kind";
        Enemy "enemy": "enemy", "the pieces of the other player; `enemy PIECE`: of this kind";
        All "all": "all", "all pieces";
        Empty "empty": "empty", "squares without a piece";
        Board "board": "board", "all squares";
        Nothing "nothing": "nothing", "no squares";
        From "from": "from", "the square that the piece leaves; for use in effects and `require`";
        To "to": "to", "the square that the piece moves to";
        Over "over": "over", "the square that the piece jumps over";
        Moved "moved": "moved", "the square of the piece that continues";
        Floor "floor": "floor", "where falling pieces stop";
        Row "row": "row 1", "a row, counted from the first player's side";
        Rows "rows": "rows 2 to 7", "rows; also `rows 1 8`";
        Column "column": "column a", "a column";
        Columns "columns": "columns a to c", "columns; also `columns a h`";
        Edge "edge": "edge", "squares at the edge; `edge north`: at the northern edge";
        Corners "corners": "corners", "the corners of the board";
        Center "center": "center", "the squares nearest to the center";
        Far "far": "far row", "the last row as the player sees it";
        Back "back": "back row", "the player's first row";
        Dark "dark": "dark", "the squares of the color of a1";
        Light "light": "light", "the squares that are not dark";
        Next "next": "next to A", "the neighbors of A; directions can follow. A piece that steps or slides does not \
            count as its own neighbor, except in a named set. `north of A`: the squares one step north of A; other \
            directions work in the same way";
        Leap "leap": "leap 1 2 from A", "the squares one leap away from A";
        Reach "reach": "reach of A", "lines from A over empty squares, including the first square that is not empty; \
            `reach of A over B`: over squares in B instead";
        Beyond "beyond": "beyond A from B", "the first square behind each straight run of A that begins next to B";
        Custodial "custodial": "custodial A", "in effects: straight runs of A between two own pieces, one of which \
            has just arrived";
        Group "group": "group of A in B", "everything connected to A through B";
        Line "line": "line of N A", "straight rows of at least N squares in A; `line of exactly N A`: rows of exactly \
            N squares";
        Not "not": "not A", "the squares that are not in A; `not` binds tightest, then `and`, then `or`; `( ... )` \
            groups";
    }

    /// Words that follow sets of squares.
    SuffixWord {
        And "and": "A and B", "squares that are in both A and B";
        Or "or": "A or B", "squares that are in A, B, or both";
        Enclosed "enclosed": "A enclosed by B", "straight runs of A with B at both ends";
        Up "up": "A up to B", "after `to`: the squares of A from which continuing over A in the direction of \
            the move leads to B";
    }

    /// Words that begin conditions, but not sets of squares.
    ConditionWord {
        Any "any": "any A", "there is a square in A; `line of N A` needs no `any`";
        No "no": "no A", "there is no square in A";
        Connected "connected": "connected A from B to C", "squares of A connect B with C; directions can follow";
        Stuck "stuck": "stuck own", "the player cannot act; `stuck enemy`: the other player cannot act; only in \
            `end`";
        Inward "inward": "inward", "the piece moves nearer to the center; only in actions, which can also test `from \
            A`, `to A`, and `over A`: the square is in A";
    }

    /// Words that begin numbers.
    NumberWord {
        Count "count": "count A", "the number of squares in A";
        Groups "groups": "groups of A", "the number of groups of A; directions can follow";
        Ply "ply": "ply", "the number of actions so far";
        Quiet "quiet": "quiet", "the number of consecutive actions that left the numbers of pieces and states \
            unchanged";
        Passes "passes": "passes", "the number of passes in a row";
    }

    /// Words that begin results.
    ResultWord {
        Win "win": "win", "the player who has acted wins; `A | B`: result A for the first player, B for the second";
        Loss "loss": "loss", "the other player wins";
        Draw "draw": "draw", "nobody wins";
        Most "most": "most SQUARES", "the player with more of these squares wins";
    }
}

/// Directions, both of the compass and relative to a player.
pub(super) const DIRECTIONS: [(&str, &[Direction]); 20] = {
    const fn of(compass: u8) -> Direction {
        Direction { compass, relative: false }
    }
    const fn seen(compass: u8) -> Direction {
        Direction { compass, relative: true }
    }
    [
        ("orthogonally", &[of(0), of(2), of(4), of(6)]),
        ("diagonally", &[of(1), of(3), of(5), of(7)]),
        ("north", &[of(0)]),
        ("northeast", &[of(1)]),
        ("east", &[of(2)]),
        ("southeast", &[of(3)]),
        ("south", &[of(4)]),
        ("southwest", &[of(5)]),
        ("west", &[of(6)]),
        ("northwest", &[of(7)]),
        ("forward", &[seen(0)]),
        ("forward-right", &[seen(1)]),
        ("right", &[seen(2)]),
        ("backward-right", &[seen(3)]),
        ("backward", &[seen(4)]),
        ("backward-left", &[seen(5)]),
        ("left", &[seen(6)]),
        ("forward-left", &[seen(7)]),
        // the same squares for both players
        ("sideways", &[of(6), of(2)]),
        ("vertically", &[of(0), of(4)]),
    ]
};

/// Words that join other words and are not in the tables.
const JOINTS: &[&str] = &["on", "of", "in", "at", "by", "through", "exactly", "least", "direction", "off"];

/// Clauses whose words cannot be used as names.
const RESERVED_CLAUSES: &[ClauseWord] = &[ClauseWord::If, ClauseWord::Require, ClauseWord::When];

/// Returns whether a word has a meaning in the language, so it cannot be used as a name.
pub(super) fn is_reserved(word: &str) -> bool {
    let is_clause = ClauseWord::of(word).is_some_and(|clause| RESERVED_CLAUSES.contains(&clause));
    is_clause
        || StatementWord::of(word).is_some()
        || WayWord::of(word).is_some()
        || SquaresWord::of(word).is_some()
        || SuffixWord::of(word).is_some()
        || ConditionWord::of(word).is_some()
        || NumberWord::of(word).is_some()
        || ResultWord::of(word).is_some()
        || DIRECTIONS.iter().any(|(direction, _)| *direction == word)
        || JOINTS.contains(&word)
}

/// A section of the guide.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// The rows, grouped into lists.
    pub usage: &'static [&'static [Usage]],
}

impl Section {
    /// Returns the rows of the section.
    pub fn rows(&self) -> impl Iterator<Item = &'static Usage> {
        self.usage.iter().copied().flatten()
    }
}

const NAMES: &[Usage] = &[
    Usage {
        form: "PIECE, STATE, NAME",
        meaning: "pieces of this kind, squares with this state, the set with this name",
    },
    Usage { form: "a1 b2", meaning: "these squares" },
];

const DIRECTION_USAGE: &[Usage] = &[
    Usage {
        form: "north, northeast, east, southeast, south, southwest, west, northwest",
        meaning: "compass directions; hexagons have neither northeast nor southwest",
    },
    Usage {
        form: "orthogonally, diagonally, vertically, sideways, any direction",
        meaning: "several directions at once",
    },
    Usage {
        form: "forward, forward-right, right, backward-right, backward, backward-left, left, forward-left",
        meaning: "directions as the player sees them",
    },
];

const COMPARISONS: &[Usage] = &[
    Usage { form: "N = M", meaning: "also `!=`, `<`, `<=`, `>=`, `>`" },
    Usage { form: "not C, C and D, C or D", meaning: "`( ... )` groups them" },
];

const NUMBERS: &[Usage] = &[
    Usage {
        form: "3, OPTION, COUNTER",
        meaning: "a number, an option, or a counter; a counter is that of the player who acts, unless `of enemy` \
            follows it; `of own PIECE` or `of enemy PIECE` selects the counter of a kind of piece",
    },
    Usage { form: "N + M, N - M", meaning: "sums and differences" },
];

/// All words and forms of the language, in the order of the guide.
pub const SECTIONS: [Section; 8] = [
    Section { title: "Statements", usage: &[StatementWord::USAGE] },
    Section { title: "Actions", usage: &[WayWord::USAGE] },
    Section { title: "Clauses of an action, each after a comma", usage: &[ClauseWord::USAGE] },
    Section { title: "Squares", usage: &[SquaresWord::USAGE, SuffixWord::USAGE, NAMES] },
    Section { title: "Directions", usage: &[DIRECTION_USAGE] },
    Section { title: "Conditions", usage: &[ConditionWord::USAGE, COMPARISONS] },
    Section { title: "Numbers", usage: &[NumberWord::USAGE, NUMBERS] },
    Section { title: "Results", usage: &[ResultWord::USAGE] },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::unchanged;

    /// Returns the tables of the guide.
    fn tables() -> String {
        let row = |usage: &Usage| {
            let form = usage.form.replace('|', "\\|");
            format!("| `{form}` | {} |\n", usage.meaning.replace('|', "\\|"))
        };
        let table = |section: &Section| {
            let rows: String = section.rows().map(row).collect();
            format!("### {}\n\n| | |\n|---|---|\n{rows}", section.title)
        };
        SECTIONS.iter().map(table).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_guide_has_every_word() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules-as-text.md");
        let guide = std::fs::read_to_string(path).unwrap();
        let (before, rest) = guide.split_once("### Statements").unwrap();
        let (_, after) = rest.split_once("\n## What follows").unwrap();
        unchanged(path.as_ref(), &format!("{before}{}\n## What follows{after}", tables())).unwrap();
    }

    #[test]
    fn every_form_shows_its_word() {
        fn check<V: Vocabulary>() {
            for ((word, _), usage) in V::WORDS.iter().zip(V::USAGE) {
                assert!(usage.form.split([' ', ':']).any(|part| part == *word), "{word}: {}", usage.form);
                assert!(!usage.meaning.is_empty(), "{word}");
            }
        }
        check::<StatementWord>();
        check::<WayWord>();
        check::<ClauseWord>();
        check::<SquaresWord>();
        check::<SuffixWord>();
        check::<ConditionWord>();
        check::<NumberWord>();
        check::<ResultWord>();
        for (word, _) in DIRECTIONS {
            let has_it = |usage: &Usage| usage.form.split(", ").any(|part| part == word);
            assert!(DIRECTION_USAGE.iter().any(has_it), "{word}");
        }
    }
}
