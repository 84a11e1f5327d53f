/** The workflow of GitHub beside what it runs. */
import { expect, it } from 'vitest'
import { plannedStages } from './ci/steps.mjs'
import { ROOT, readText } from './repository-files.js'

const WORKFLOW = readText('.github/workflows/ci.yml')
const numberIn = (text: string, form: RegExp) => Number(form.exec(text)?.[1])

it('the workflow gives the checks more time than they take at most', () => {
  const checks = numberIn(readText('scripts/ci/run.mjs'), /TOTAL_MINUTES = (\d+)/)
  const job = WORKFLOW.slice(WORKFLOW.indexOf('\n  run:'), WORKFLOW.indexOf('bash .ci/run'))
  expect(numberIn(job, /timeout-minutes: (\d+)/)).toBeGreaterThan(checks + 5)
  expect(numberIn(job, /stops itself after (\d+) minutes/)).toBe(checks)
})

it('the workflow runs the checks on the oldest Node that packages take, and on each newer one that is tested', () => {
  const { engines } = JSON.parse(readText('package.json')) as { engines: { node: string } }
  const versions = /node: \[(.*)\]/.exec(WORKFLOW)?.[1]?.split(', ').map(Number)
  expect(versions).toEqual([numberIn(engines.node, /^>=(\d+)/), 22, 24])
  expect(readText('README.md')).toContain(`tested on ${versions?.join(', ').replace(/, (?=\d+$)/, ' and ')})`)
  expect(WORKFLOW.match(/bash \.ci\/run/g)).toHaveLength(1)
  expect(WORKFLOW).toContain('node-version: ${' + '{ matrix.node }}')
})

it('the checks themselves run a part on the newest Node, with the oldest LangChain, and with generators of clients', () => {
  const newest = numberIn(WORKFLOW, /node: \[.*, (\d+)\]/)
  const commands = plannedStages(ROOT)
    .flat(2)
    .map(({ command }) => command.join(' '))
  for (const part of [`on-node.mjs ${newest} `, 'on-oldest-langchain.mjs', 'check-generators.mjs'])
    expect(commands).toContainEqual(expect.stringContaining(part))
})
