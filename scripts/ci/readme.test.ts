import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { asScript, readmeCommands } from './readme.mjs'

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

\`\`\`sh
npm test
\`\`\`
`

describe('the commands of the README', () => {
  it('are its sh blocks, start and test apart, without those for the reader alone', () => {
    expect(readmeCommands(PAGE)).toEqual({
      start: 'npm start',
      test: 'npm test',
      others: ['KEY=$(cat data/bootstrap-key)', 'curl http://127.0.0.1:8787/v1/decisions'],
    })
  })

  it('must hold one start and one test command', () => {
    expect(() => readmeCommands(PAGE.replace('npm test', 'npm run test'))).toThrow('0 blocks with npm test')
    expect(() => readmeCommands(PAGE.replaceAll('npm test', 'npm start'))).toThrow('2 blocks with npm start')
  })

  it('reach the server of the checks and its data', () => {
    const script = asScript(readmeCommands(PAGE).others, { port: 4321, dataFolder: '/elsewhere' })
    expect(script).toContain('KEY=$(cat /elsewhere/bootstrap-key)')
    expect(script).toContain('http://127.0.0.1:4321/v1/decisions')
  })

  it('share variables and stop at the first that fails', () => {
    const script = asScript(['SAID=one', 'echo $SAID; false', 'echo two'], { port: 1, dataFolder: '/elsewhere' })
    expect(() => execFileSync('bash', ['-c', script])).toThrow()
    expect(execFileSync('bash', ['-c', `${script.replace('false', 'true')}`], { encoding: 'utf8' })).toBe('one\ntwo\n')
  })
})
