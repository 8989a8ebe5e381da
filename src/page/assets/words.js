// A summary of the language for rules, shown beside the editor.

import { h } from './dom.js'
import { SECTIONS } from './vocabulary.js'

/** Returns a text whose parts in backquotes are shown as code. */
const marked = (text) => text.split('`').map((part, at) => (at % 2 === 1 ? h('code', null, part) : part))

/** The words of the language, folded. */
export function words() {
  const list = ({ title, rows }) => [
    h('h3', null, title),
    h('dl', null, rows.map(([form, meaning]) => [h('dt', null, h('code', null, form)), h('dd', null, marked(meaning))])),
  ]
  return h('details.words-of', null, h('summary', null, 'The words of the language'),
    h('p', null, 'Each line is one statement; an indented line continues the previous one; # begins a comment.'),
    SECTIONS.map(list))
}
