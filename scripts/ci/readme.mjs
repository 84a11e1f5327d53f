/**
 * The commands of the README, as its reader copies them.
 *
 * Every fenced block of the language `sh` is a command, and every one of the language `js` a program for Node. `npm
 * start` and `npm test` are found by what they say; the others run in the order of the page while the server of `npm
 * start` is up. A block that only a reader can run says so in its info string: `sh skip`.
 *
 * A `json` or `text` block right below a command is what it prints. Of JSON, the members that the page shows are
 * compared; `…` within a text stands for anything. A command may fail only where the page shows a problem with its HTTP
 * status below it.
 */

/** What the README says and the checks must change: the server's port and where its data lie. */
const DEFAULT_PORT = ':8787'
const DEFAULT_DATA = /(?<![\w/.])(\.\/)?data\//g

/** Printed after each block, so that outputs can be told apart. */
const END = '----- end of a block -----'

/**
 * @typedef {{ language: string, text: string }} Outcome
 * @typedef {{ command: string, outcome: Outcome | null }} Block
 */

/**
 * @param {string} markdown
 * @returns {{ start: string, test: string, others: Block[] }}
 * @throws Error when the page does not hold exactly one block for each of `npm start` and `npm test`
 */
export function readmeCommands(markdown) {
  const blocks = commandBlocks(markdown)
  /** @param {string} command */
  const only = (command) => {
    const found = blocks.filter((block) => block.command === command || block.command.startsWith(`${command} `))
    if (found.length !== 1) throw new Error(`README.md holds ${found.length} blocks with ${command}, not one`)
    return /** @type {Block} */ (found[0])
  }
  const start = only('npm start')
  const test = only('npm test')
  const others = blocks.filter((block) => block !== start && block !== test)
  return { start: start.command, test: test.command, others }
}

/**
 * Every command of a page, in order.
 * @param {string} markdown
 * @param {{ isReader?: boolean }} [options] with `isReader`, also those that only a reader can run
 * @returns {Block[]}
 */
export function commandBlocks(markdown, { isReader = false } = {}) {
  const fences = [...markdown.matchAll(/^```(\w*) *(.*)\n([\s\S]*?)^```\n/gm)].map((match) => {
    const [all, language = '', info = '', text = ''] = match
    return { language, info, text: text.trim(), from: match.index, to: match.index + all.length }
  })
  return fences.flatMap(({ language, info, text, to }, i) => {
    if (!['sh', 'js'].includes(language) || (info === 'skip' && !isReader)) return []
    const next = fences[i + 1]
    const isOutcome = next && ['json', 'text'].includes(next.language) && markdown.slice(to, next.from).trim() === ''
    const outcome = isOutcome ? { language: next.language, text: next.text } : null
    const command = language === 'js' ? `node --input-type=module <<'JS'\n${text}\nJS` : text
    return [{ command: isProblem(outcome) ? `{ ${command}\n} || true` : command, outcome }]
  })
}

/**
 * Whether the page shows an answer that curl fails on.
 * @param {Outcome | null} outcome
 */
function isProblem(outcome) {
  return outcome?.language === 'json' && typeof JSON.parse(outcome.text).status === 'number'
}

/**
 * One bash script of several commands, so that a variable set in one is there in the next: stops at the first command
 * that fails, and lets curl fail on an HTTP error.
 * @param {string[]} commands
 * @param {{ port: number, dataFolder: string }} server
 */
export function asScript(commands, { port, dataFolder }) {
  const text = commands
    .map((command) => `${command}\necho '\n${END}'`)
    .join('\n\n')
    .replaceAll(DEFAULT_PORT, `:${port}`)
    .replace(DEFAULT_DATA, `${dataFolder}/`)
  return `set -euo pipefail\ncurl() { command curl --fail-with-body --silent --show-error "$@"; }\n${text}\n`
}

/**
 * What each command of a script printed.
 * @param {string} output
 * @returns {string[]}
 */
export function outputsOf(output) {
  return output
    .split(`\n${END}\n`)
    .slice(0, -1)
    .map((part) => part.trim())
}

/**
 * Where an output differs from what the page says; empty when it does not.
 * @param {Outcome} outcome
 * @param {string} output
 * @returns {string[]}
 */
export function differencesFrom({ language, text }, output) {
  if (language === 'json') return differences(JSON.parse(text), parsedOr(output), '')
  return fits(text, output) ? [] : [`expected ${JSON.stringify(text)}, found ${JSON.stringify(output)}`]
}

/**
 * @param {unknown} shown
 * @param {unknown} found
 * @param {string} path
 * @returns {string[]}
 */
function differences(shown, found, path) {
  if (typeof shown === 'string' && typeof found === 'string' && fits(shown, found)) return []
  const isSameKind = Array.isArray(shown) === Array.isArray(found)
  if (isSameKind && typeof shown === 'object' && shown !== null && typeof found === 'object' && found !== null) {
    return Object.entries(shown).flatMap(([name, value]) =>
      differences(value, /** @type {Record<string, unknown>} */ (found)[name], `${path}/${name}`),
    )
  }
  if (shown === found) return []
  return [`${path}: expected ${JSON.stringify(shown)}, found ${JSON.stringify(found)}`]
}

/**
 * @param {string} shown
 * @param {string} found
 */
function fits(shown, found) {
  const parts = shown.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`).test(found)
}

/** @param {string} output */
function parsedOr(output) {
  try {
    return JSON.parse(output)
  } catch {
    return output
  }
}
