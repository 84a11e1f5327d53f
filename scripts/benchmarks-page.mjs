/** The page with what the benches printed: its form, read and written by `npm run bench`. */

/**
 * @typedef {object} Section what a bench printed, and where
 * @property {string} name of its script, without the ending
 * @property {string} method the comment at the top of its script, as one paragraph
 * @property {string} date such as `2026-11-22`
 * @property {string} machine one line
 * @property {string} output
 */

const BEGIN = '<!-- From here on generated: `npm run bench` writes it from its output. -->'

/**
 * @param {string} page
 * @returns {{ introduction: string, sections: Section[] }} the part by hand, and the generated one
 */
export function readPage(page) {
  const [introduction = '', generated = ''] = page.split(`${BEGIN}\n`)
  const sections = [
    ...generated.matchAll(/^## (\S+)\n\n(.+)\n\n(\d{4}-\d\d-\d\d) on (.+)\n\n```text\n([\s\S]*?)\n```\n/gm),
  ].map(([, name = '', method = '', date = '', machine = '', output = '']) => ({ name, method, date, machine, output }))
  return { introduction, sections }
}

/**
 * @param {{ introduction: string, sections: readonly Section[] }} parts
 * @returns {string}
 */
export function writePage({ introduction, sections }) {
  const texts = sections
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(
      ({ name, method, date, machine, output }) =>
        `\n## ${name}\n\n${method}\n\n${date} on ${machine}\n\n\`\`\`text\n${output}\n\`\`\`\n`,
    )
  return `${introduction}${BEGIN}\n${texts.join('')}`
}

/**
 * The comment at the top of a script as one paragraph, without the line on how to run it.
 *
 * @param {string} source
 * @returns {string}
 */
export function methodOf(source) {
  const [, comment = ''] = /\/\*\*\n([\s\S]*?)\*\//.exec(source) ?? []
  const lines = comment.split('\n').map((line) => line.replace(/^ \* ?/, '').trim())
  return lines.filter((line) => line !== '' && !line.startsWith('Run: ')).join(' ')
}
