/**
 * The commands of the README, as its reader copies them.
 *
 * Every fenced block of the language `sh` is a command. `npm start` and `npm test` are found by what they say; the
 * others run in the order of the page while the server of `npm start` is up. A block that only a reader can run says
 * so in its info string: `sh skip`.
 */

/** What the README says and the checks must change: the server's port and where its data lie. */
const DEFAULT_PORT = ':8787'
const DEFAULT_DATA = /(?<![\w/.])(\.\/)?data\//g

/**
 * @param {string} markdown
 * @returns {{ start: string, test: string, others: string[] }}
 * @throws Error when the page does not hold exactly one block for each of `npm start` and `npm test`
 */
export function readmeCommands(markdown) {
  const blocks = [...markdown.matchAll(/^```sh *(.*)\n([\s\S]*?)^```$/gm)]
    .filter(([, info]) => info !== 'skip')
    .map(([, , text = '']) => text.trim())
  /** @param {string} command */
  const only = (command) => {
    const found = blocks.filter((text) => text === command || text.startsWith(`${command} `))
    if (found.length !== 1) throw new Error(`README.md holds ${found.length} blocks with ${command}, not one`)
    return /** @type {string} */ (found[0])
  }
  const start = only('npm start')
  const test = only('npm test')
  return { start, test, others: blocks.filter((text) => text !== start && text !== test) }
}

/**
 * One bash script of several blocks, so that a variable set in one is there in the next: stops at the first command
 * that fails, and lets curl fail on an HTTP error.
 * @param {string[]} blocks
 * @param {{ port: number, dataFolder: string }} server
 */
export function asScript(blocks, { port, dataFolder }) {
  const text = blocks.join('\n\n').replaceAll(DEFAULT_PORT, `:${port}`).replace(DEFAULT_DATA, `${dataFolder}/`)
  return `set -euo pipefail\ncurl() { command curl --fail-with-body --silent --show-error "$@"; }\n${text}\n`
}
