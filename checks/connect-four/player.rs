//! The perfect player over UGI: `petteia arena connect-four runs/a:400 'ugi:target/release/connect-four-set --ugi'`.
//!
//! It plays a random action among those with the best score: the fastest win in a won position, the longest
//! resistance in a lost one. Positions are `startpos` or `fen` with the columns played so far, then `moves`.

use std::io::{BufRead, Write};

use connect_four_ai::{Position, Solver};
use rand::RngExt;

/// Answers commands until `quit` or the end of the input.
pub fn play(input: impl BufRead, mut out: impl Write) -> Result<(), String> {
    let mut solver = Solver::new();
    let mut position = Position::new();
    for line in input.lines() {
        let line = line.map_err(|error| error.to_string())?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["ugi"] => "id name connect-four-ai\nugiok".into(),
            ["isready"] => "readyok".into(),
            ["position", ref rest @ ..] => {
                position = parse(rest).ok_or_else(|| format!("`{line}` is no position of Connect Four"))?;
                continue;
            }
            ["go", ..] => format!("bestmove {}", best(&mut solver, &position)?),
            ["quit"] => return Ok(()),
            // UGI requires engines to ignore unknown commands
            _ => continue,
        };
        writeln!(out, "{answer}").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn parse(words: &[&str]) -> Option<Position> {
    let (start, moves) = match words {
        ["startpos", moves @ ..] => ("", moves),
        ["fen", start, moves @ ..] => (*start, moves),
        _ => return None,
    };
    let moves = match moves {
        [] => "".into(),
        ["moves", moves @ ..] => moves.concat(),
        _ => return None,
    };
    Position::from_moves(&format!("{start}{moves}")).ok()
}

/// Returns one of the best columns, counted from 1.
fn best(solver: &mut Solver, position: &Position) -> Result<usize, String> {
    let scores = solver.get_all_move_scores(position);
    let best = scores.iter().flatten().max().ok_or("the game is over")?;
    let columns: Vec<usize> =
        (1..).zip(&scores).filter(|(_, score)| *score == &Some(*best)).map(|(column, _)| column).collect();
    Ok(columns[rand::rng().random_range(0..columns.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: &str) -> String {
        let mut out = Vec::new();
        play(text.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn it_speaks_ugi() {
        assert_eq!(
            answers("ugi\nisready\nsomething\nquit\nisready\n"),
            "id name connect-four-ai\nugiok\nreadyok\n"
        );
    }

    #[test]
    fn it_begins_in_the_middle_and_takes_a_win() {
        assert_eq!(answers("position startpos\ngo nodes 1\n"), "bestmove 4\n");
        // three men of the first player in the first column, three of the second in the second
        assert_eq!(answers("position fen 1212 moves 1 2\ngo nodes 1\n"), "bestmove 1\n");
        assert_eq!(answers("position startpos moves 1 2 1 2 1 7\ngo nodes 1\n"), "bestmove 1\n");
    }

    #[test]
    fn what_is_no_position_is_said() {
        let error = play("position startpos moves 9\n".as_bytes(), Vec::new()).unwrap_err();
        assert!(error.contains("moves 9"), "{error}");
    }
}
