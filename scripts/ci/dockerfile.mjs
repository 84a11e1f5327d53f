/** Reads a Dockerfile as far as ours goes. */

/**
 * @typedef {{ keyword: string, rest: string }} Instruction
 * @typedef {{ name: string, instructions: Instruction[] }} Stage
 */

/**
 * @param {string} text
 * @returns {Stage[]}
 */
export function stagesOf(text) {
  const lines = text.replaceAll(/\\\n/g, ' ').split('\n')
  /** @type {Stage[]} */
  const stages = []
  for (const line of lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))) {
    const [, keyword = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (keyword === '') throw new Error(`This is no instruction: ${line}`)
    const [, name] = /\sAS\s+(\S+)$/.exec(rest) ?? []
    if (keyword === 'FROM') stages.push({ name: name ?? `${stages.length}`, instructions: [] })
    else stages.at(-1)?.instructions.push({ keyword, rest })
  }
  return stages
}

/**
 * The last value of an instruction that a stage has.
 * @param {Stage} stage
 * @param {string} keyword
 */
export function lastOf({ instructions }, keyword) {
  const found = instructions.filter((instruction) => instruction.keyword === keyword).at(-1)
  if (found === undefined) throw new Error(`The stage has no ${keyword}.`)
  return found.rest
}

/**
 * What a command in the form of a JSON list runs.
 * @param {string} rest
 * @returns {string[]}
 */
export function commandOf(rest) {
  return JSON.parse(rest.slice(rest.indexOf('[')))
}

/**
 * `NAME=value` pairs.
 * @param {string} rest
 * @returns {Record<string, string>}
 */
export function pairsOf(rest) {
  return Object.fromEntries(rest.split(/\s+/).map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
}
