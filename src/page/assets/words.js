// The language of rules as a text, in brief, next to the editor.

import { h } from './dom.js'

const STATEMENTS = [
  ['game TITLE by AUTHOR', 'the title, which is the name of the game'],
  ['about WORDS', 'the description that players read'],
  ['players White, Black', 'their names'],
  ['board 8 x 8', 'also board hex 7 x 7, board hexagon 4, board triangle 6'],
  ['piece pawn W B', 'a kind of piece, with the letter of each player’s'],
  ['state arrow x', 'what a square can be: closed, a tile'],
  ['counter hand = 3', 'a number of each player; count up hand, count down hand'],
  ['option size = 8 from 4 to 12', 'a number that can be chosen'],
  ['start pawn: rows 1 2 | rows 7 8', 'the first player’s | the second player’s'],
  ['set goal = far row', 'a name for squares'],
  ['action …', 'what a player can do'],
  ['otherwise …', 'what a player can do if nothing above is possible'],
  ['phase NAME', 'the actions below belong to it; then NAME and phase NAME lead there'],
  ['end CONDITION: win', 'or loss, draw, most SQUARES: for the player who has just acted'],
  ['stuck: loss', 'for a player who cannot act'],
  ['repetition 3: draw', 'also quiet 50: draw'],
  ['limit 200: draw', 'so that every game ends'],
]
const ACTIONS = [
  ['place stone to empty', 'also drop stone, onto the lowest empty square'],
  ['step pawn forward to empty', 'orthogonally, diagonally, any direction, forward-left, north …'],
  ['slide rook orthogonally to not own', 'at most 3, through SQUARES'],
  ['hop man any direction over enemy to empty', 'over a neighbor'],
  ['leap knight 1 2 to not own', 'that many squares along and across'],
  ['pass, swap', ''],
  [', capture', 'also remove, flip, mark, promote to, exchange, again, again may'],
  [', if CONDITION', 'before; require CONDITION afterwards'],
]
const SQUARES = [
  ['own, enemy, empty, all, edge, corners, center', 'far row, back row, row 1, column a, a1 b2'],
  ['A and B, A or B, not A', ''],
  ['next to A, north of A', 'also orthogonally, diagonally'],
  ['reach of A, beyond A from B, custodial A', 'lines of sight, runs of pieces, enclosed pieces'],
  ['group of A in B, line of 5 A', 'connected squares, rows'],
]
const CONDITIONS = [
  ['any A, no A, count A > 3', ''],
  ['connected own from A to B', ''],
  ['stuck enemy, ply = 1', ''],
]

/** Returns the words of the language, folded. */
export function words() {
  const list = (title, rows) => [h('h3', null, title), h('dl', null, rows.map(([code, text]) => [h('dt', null, h('code', null, code)), h('dd', null, text)]))]
  return h('details.words-of', null, h('summary', null, 'The words of the language'),
    h('p', null, 'One statement per line; an indented line continues the previous one; # begins a comment.'),
    list('Statements', STATEMENTS), list('Actions', ACTIONS), list('Squares', SQUARES), list('Conditions', CONDITIONS))
}
