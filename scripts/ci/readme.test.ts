import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { readText, repositoryFiles } from '../repository-files.js'
import { asScript, commandBlocks, differencesFrom, outputsOf, readmeCommands } from './readme.mjs'

const PAGE = `
# Title

\`\`\`sh skip
git clone somewhere
\`\`\`

\`\`\`sh
npm start
\`\`\`

\`\`\`sh
KEY=$(cat data/bootstrap-key)
\`\`\`

\`\`\`json
{}
\`\`\`

\`\`\`sh
curl http://127.0.0.1:8787/v1/decisions
\`\`\`

\`\`\`json
{ "effect": "deny" }
\`\`\`

\`\`\`js
console.log('asked')
\`\`\`

Prose is between.

\`\`\`text
something else
\`\`\`

\`\`\`sh
npm test
\`\`\`
`

describe('the commands of the README', () => {
  it('are its sh blocks, start and test apart, without those for the reader alone', () => {
    expect(readmeCommands(PAGE)).toEqual({
      start: 'npm start',
      test: 'npm test',
      others: [
        { command: 'KEY=$(cat data/bootstrap-key)', outcome: { language: 'json', text: '{}' } },
        {
          command: 'curl http://127.0.0.1:8787/v1/decisions',
          outcome: { language: 'json', text: '{ "effect": "deny" }' },
        },
        { command: "node --input-type=module <<'JS'\nconsole.log('asked')\nJS", outcome: null },
      ],
    })
  })

  it('must hold one start and one test command', () => {
    expect(() => readmeCommands(PAGE.replace('npm test', 'npm run test'))).toThrow('0 blocks with npm test')
    expect(() => readmeCommands(PAGE.replaceAll('npm test', 'npm start'))).toThrow('2 blocks with npm start')
  })

  it('reach the server of the checks and its data', () => {
    const script = asScript(
      readmeCommands(PAGE).others.map(({ command }) => command),
      { port: 4321, dataFolder: '/elsewhere' },
    )
    expect(script).toContain('KEY=$(cat /elsewhere/bootstrap-key)')
    expect(script).toContain('http://127.0.0.1:4321/v1/decisions')
  })

  it('share variables and stop at the first that fails', () => {
    const script = asScript(['SAID=one', 'echo $SAID; false', 'echo two'], { port: 1, dataFolder: '/elsewhere' })
    expect(() => execFileSync('bash', ['-c', script])).toThrow()
    const output = execFileSync('bash', ['-c', `${script.replace('false', 'true')}`], { encoding: 'utf8' })
    expect(outputsOf(output)).toEqual(['', 'one', 'two'])
  })

  it('may fail where the page shows a problem', () => {
    const page = '```sh\necho \'{"status": 409}\'; false\n```\n\n```json\n{ "status": 409 }\n```\n'
    const run = (markdown: string) => {
      const commands = commandBlocks(markdown).map(({ command }) => command)
      return execFileSync('bash', ['-c', asScript(commands, { port: 1, dataFolder: '/elsewhere' })], {
        encoding: 'utf8',
      })
    }
    expect(outputsOf(run(page))).toEqual(['{"status": 409}'])
    expect(() => run(page.replace('{ "status": 409 }', '{ "status": "rejected" }'))).toThrow()
  })
})

describe('an outcome that the README states', () => {
  const shown = { language: 'json', text: '{ "effect": "deny", "id": "dec_…", "data": [{ "rule": null }] }' }

  it('is met when the members it shows are there', () => {
    expect(differencesFrom(shown, '{"id":"dec_1","effect":"deny","more":1,"data":[{"rule":null,"x":1},{}]}')).toEqual(
      [],
    )
  })

  it('is missed by another value, a missing member and an output that is no JSON', () => {
    expect(differencesFrom(shown, '{"id":"pol_1","effect":"deny","data":[{"rule":0}]}')).toEqual([
      '/id: expected "dec_…", found "pol_1"',
      '/data/0/rule: expected null, found 0',
    ])
    expect(differencesFrom(shown, '{"id":"dec_1","effect":"deny"}')).toHaveLength(1)
    expect(differencesFrom(shown, 'nothing')).toHaveLength(1)
  })

  it('may be a text in which … stands for anything', () => {
    const text = { language: 'text', text: 'permitted by dec_… (once)' }
    expect(differencesFrom(text, 'permitted by dec_1 (once)')).toEqual([])
    expect(differencesFrom(text, 'permitted by dec_1 once')).toHaveLength(1)
  })
})

it('check-readme.mjs runs every page of docs/ that has commands', () => {
  const [, list = ''] = /const GUIDES = \[([^\]]*)\]/.exec(readText('scripts/ci/check-readme.mjs')) ?? []
  const guides = [...list.matchAll(/'(.+)'/g)].map(([, page = '']) => page)
  const pages = repositoryFiles.filter((path) => /^docs\/.*\.md$/.test(path))
  expect(guides.toSorted()).toEqual(pages.filter((page) => commandBlocks(readText(page)).length > 0).toSorted())
})
