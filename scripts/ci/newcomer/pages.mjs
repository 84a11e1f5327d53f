/** Runs what a page says, and compares it with what the page says that it prints. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { asScript, commandBlocks, differencesFrom, outputsOf } from '../readme.mjs'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** A key that only the reader has. */
const PLACEHOLDER = 'cs_sk_…'

/**
 * @param {string} page
 * @returns {string} its text
 */
export function textOf(page) {
  return readFileSync(join(ROOT, page), 'utf8')
}

/**
 * @param {string} page a folder with a README
 * @returns {import('../readme.mjs').Block[]}
 */
export function blocksOf(page) {
  return commandBlocks(textOf(`${page}/README.md`), { isReader: true })
    .map(({ command, outcome }) => ({
      command: command.replace(new RegExp(`^export .*${PLACEHOLDER}$`, 'm'), '').trim(),
      outcome,
    }))
    .filter(({ command }) => command !== '')
}

/**
 * @param {import('./machine.mjs').Machine} machine
 * @param {string} page
 * @param {import('../readme.mjs').Block[]} blocks
 * @param {string} folder
 * @param {Record<string, string>} more
 */
export function runPage(machine, page, blocks, folder, more) {
  const began = performance.now()
  const commands = blocks.map(({ command }) => (command.startsWith('npm install') ? pinned(command) : command))
  const outputs = outputsOf(machine.run(asScript(commands, machine), folder, more))
  const faults = blocks.flatMap(({ command, outcome }, i) => {
    const found = outcome === null ? [] : differencesFrom(outcome, outputs[i] ?? '')
    return found.map((difference) => `${difference}\n  printed by ${command}`)
  })
  if (faults.length > 0) throw new Error(`${page} says something else:\n${faults.join('\n')}`)
  const compared = blocks.filter(({ outcome }) => outcome !== null).length
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(
    `${page}: ran ${blocks.length} commands in ${seconds} s, ${compared} with the outcome that the page states`,
  )
}

/**
 * The command with the versions of this checkout for what is not ours: a release of theirs does not fail a check of ours.
 * @param {string} command
 */
export function pinned(command) {
  return command.replaceAll(/(?<= )(?!@countersign\/|#|-)(@[\w-]+\/)?[a-z][\w-]*(?= |$)/gm, (name) => {
    const manifest = ['.', 'integrations/langchain', 'integrations/mcp', 'integrations/express', 'server']
      .map((folder) => join(ROOT, folder, 'node_modules', name, 'package.json'))
      .find(existsSync)
    return manifest ? `${name}@${JSON.parse(readFileSync(manifest, 'utf8')).version}` : name
  })
}
