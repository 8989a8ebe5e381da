// Requests to the program that serves this page.
// Input: a path below /api, and the data to send. Output: the answer, or an error with a message for people.
// If the program is busy (503), the request is repeated a few times.

/** A token that changes each time the program starts. */
export const token = document.querySelector('meta[name=token]').content
const TRIES = 6

const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

/** Sends a request to the program; with data, as a POST. */
export async function ask(path, data) {
  const headers = { 'x-petteia-token': token }
  const options = data === undefined ? { headers } :
    { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(data) }
  for (let attempt = 1; ; attempt++) {
    let response
    try {
      response = await fetch(`api/${path}`, options)
    } catch {
      throw new Error('The program does not answer. Is petteia serve still running?')
    }
    if (response.ok) return response.json()
    if (response.status === 503 && attempt < TRIES) {
      await pause(150 * 2 ** attempt)
      continue
    }
    const answer = await response.json().catch(() => ({}))
    const restarted = response.status === 401 || response.status === 403
    const words = restarted ? 'The program has been restarted: reload this page.' : answer.error
    throw new Error(words ?? `The program answered with an error (${response.status}).`)
  }
}
