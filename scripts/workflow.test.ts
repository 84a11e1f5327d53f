/** The workflows of GitHub beside what they run. */
import { describe, expect, it } from 'vitest'
import { plannedStages } from './ci/steps.mjs'
import { publishedNames } from './pack.mjs'
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
  for (const part of [`on-node.mjs ${newest} `, 'on-oldest-langchain.mjs', 'check-generators.mjs', 'check-by-name.mjs'])
    expect(commands).toContainEqual(expect.stringContaining(part))
})

describe('the workflow of the release', () => {
  const release = readText('.github/workflows/release.yml')
  const job = (name: string) => release.split(/^ {2}(?=\w+:$)/m).find((part) => part.startsWith(`${name}:`)) ?? ''
  const granted = (name: string) => /permissions:\n((?: {6}.+\n)+)/.exec(job(name))?.[1]?.trim().split(/\n */)

  it('publishes by the trust of npm: it has no secret but the one that GitHub gives each run', () => {
    expect(new Set(release.match(/secrets\.\w+/g))).toEqual(new Set(['secrets.GITHUB_TOKEN']))
    expect(release).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN/)
    expect(granted('publish')).toEqual(['contents: write', 'id-token: write'])
    expect(job('publish')).toContain('environment: npm')
    // Node 24 brings npm 11.
    expect(numberIn(job('publish'), /node-version: (\d+)/)).toBeGreaterThanOrEqual(24)
  })

  it('gives each job no more than it needs, and code of others no right to publish', () => {
    expect(release).toContain('\npermissions: {}\n')
    expect(granted('version')).toEqual(['contents: write', 'pull-requests: write'])
    const actions = [...job('publish').matchAll(/uses: ([\w/-]+)@/g)].map(([, action]) => action)
    expect(actions).toEqual(['actions/checkout', 'actions/setup-node'])
    expect(release).not.toContain('pull_request')
    expect(release.match(/npm ci.*/g)).toEqual(['npm ci --ignore-scripts', 'npm ci --ignore-scripts'])
  })

  it('names each action by its commit, with the version beside it', () => {
    const uses = release.match(/uses: .*/g) ?? []
    expect(uses.length).toBeGreaterThan(4)
    expect(uses.filter((use) => !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(use))).toEqual([])
  })

  it('runs scripts that are there, and releases all packages together', () => {
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> }
    const named = [...release.matchAll(/npm run ([\w-]+)/g)].map(([, name = '']) => name)
    expect(named).toEqual(['version-packages', 'build'])
    for (const name of named) expect(scripts).toHaveProperty([name])
    const { fixed, access } = JSON.parse(readText('.changeset/config.json')) as { fixed: string[][]; access: string }
    expect(fixed).toEqual([['@countersign/*', 'countersign', 'countersign-mcp']])
    expect(access).toBe('public')
  })

  it('is trusted for each published package by the commands of CONTRIBUTING.md', () => {
    const [, unscoped = '', scope = '', scoped = ''] =
      /^for name in (.*) (@\w+\/)\{(.*)\}; do$/m.exec(readText('CONTRIBUTING.md')) ?? []
    const named = [...unscoped.split(' '), ...scoped.split(',').map((name) => `${scope}${name}`)]
    expect(named.toSorted()).toEqual(publishedNames().toSorted())
  })
})
