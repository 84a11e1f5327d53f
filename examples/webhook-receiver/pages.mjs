/** The pages of the chat. Agents choose most of the words on them, so every value is escaped. */

/** A page with all messages, oldest first. */
export function chatPage(messages) {
  return page('Reviews', messages.map(article))
}

/** A page that asks. Only its buttons act: what follows links by itself, such as a link preview, presses none. */
export function questionPage({ decision }) {
  const form = html`<form method="post">
    <button name="answer" value="approve">Approve</button>
    <button name="answer" value="decline">Decline</button>
  </form>`
  return page('Approve or decline?', [...lines(decision), form])
}

/** A page that says one thing. */
export function sentencePage(sentence) {
  return page(sentence, [])
}

function article({ decision, token, isAnsweredHere }) {
  const state =
    decision.review.status === 'waiting'
      ? html`<a href="/reviews/${token}">Approve or decline</a>`
      : html`<b>${stateOf(decision.review, isAnsweredHere)}</b>`
  return html`<article>${lines(decision)}<p>${state}</p></article>`
}

/** Who wants what, for how much, and why a person is asked. An event never has the context of the request. */
function lines({ agent_id, action, resource, budgets, reason }) {
  const amounts = budgets
    .filter(({ amount }) => amount !== null)
    .map(({ amount, unit }) => `${amount.toFixed(2)} ${unit}`)
  return [
    html`<p>${agent_id} wants ${action} on ${resource ?? 'nothing in particular'}</p>`,
    ...amounts.map((amount) => html`<p>${amount}</p>`),
    html`<p>${reason}</p>`,
  ]
}

function stateOf({ status, comment }, isAnsweredHere) {
  if (status !== 'approved' && status !== 'declined') return status
  if (isAnsweredHere) return `${status} here`
  return `${status} elsewhere${comment === null ? '' : `: ${comment}`}`
}

function page(title, content) {
  const { text } =
    html`<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>${content}</html>`
  return text
}

class Html {
  constructor(text) {
    this.text = text
  }
}

/** HTML with values in it. Each is escaped, unless it was made here, too. */
function html(parts, ...values) {
  return new Html(String.raw({ raw: parts }, ...values.map(textOf)))
}

function textOf(value) {
  if (Array.isArray(value)) return value.map(textOf).join('')
  if (value instanceof Html) return value.text
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
